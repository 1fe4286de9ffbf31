import Testing
import Vitrine
import VitrineSimulation

/// The power goes again while recovery is at work, and once more after that.
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
        for (number, second) in crashes.enumerated() where number % Thoroughness.stride == 0 {
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
}
