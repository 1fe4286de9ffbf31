import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// The power is lost again during recovery, and once more after that.
@Suite struct RecoveryCrashTests {
  @Test func recoveryCanBeCutAnywhere() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    try work.put("b", Workload.bytes(5000, 2))
    try work.put("c", Workload.bytes(700, 1), synced: true)
    try work.remove("a")
    try work.put("b", Workload.bytes(300, 3), synced: true)
    let moments = [work.world.disk.operationCount - 3, work.world.disk.operationCount]
    for first in work.world.disk.crashes(mixtures: 3, seed: 3, maximumAlone: 3, after: moments) {
      let world = work.world.rebooted(first.disk())
      let again = try CacheStore.open(
        at: Workload.path, options: StoreOptions(), environment: world.environment)
      world.background.runAll()
      // Left without closing.
      withExtendedLifetime(again) {
        let crashes = world.disk.crashes(mixtures: 1, seed: 5, maximumAlone: 2)
        for (number, second) in crashes.enumerated() where Thoroughness.takes(number) {
          let inspection = Inspection(history: work.history, moment: first.operationCount, powerLost: true)
          let wrong = inspection.run(world.rebooted(second.disk()))
          #expect(wrong == nil, "\(first), then \(second)")
        }
      }
    }
  }

  @Test func tenCrashesInARowNeedNoCleanCloseBetween() throws {
    let work = try Workload()
    try work.put("kept", Workload.bytes(3000, 1), synced: true)
    var world = work.world
    for round in 0..<10 {
      world = world.rebooted(
        world.disk.crashStates().disk(round % 2 == 0 ? .everythingLost : .everythingKept))
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("kept") == Workload.bytes(3000, 1), "round \(round)")
      try store.put(Workload.bytes(2000, round), for: "r\(round)", options: PutOptions(durability: .synced))
      for earlier in 0...round { #expect(store.bytes("r\(earlier)") == Workload.bytes(2000, earlier)) }
      store.abandon()
    }
  }

  /// Rule 7: the process dies after the write of a checkpoint's header, before its sync. According to memory, log
  /// files are free that the checkpoint on the disk needs.
  @Test(arguments: 1...3) func noLogFileIsUsedAgainBeforeTheCheckpointThatFreesItIsOnTheDisk(_ turns: Int) throws {
    let work = try Workload()
    var number = 0
    for _ in 0..<turns { try work.turnLog(&number) }
    try work.checkpoint()
    for _ in 0..<2 { try work.turnLog(&number) }
    let before = Inspection.contents(work.store, work.history.keys)
    try work.checkpoint()
    let header = try #require(
      work.world.disk.operations.last { $0.byteRange == 0..<4096 && $0.path.contains("/checkpoints/") })
    let world = work.world.rebooted(work.world.disk.crashStates(after: header.index + 1).diskAfterProcessDeath())
    let first = world.disk.operationCount
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    store.abandon()
    for moment in first...world.disk.operationCount {
      let left = world.rebooted(world.disk.crashStates(after: moment).disk(.everythingLost))
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      #expect(Inspection.contents(again, work.history.keys) == before, "after \(moment)")
      #expect(!again.statistics().lastOpen.mayHaveLostRemovals, "after \(moment)")
      again.abandon()
    }
  }
}
