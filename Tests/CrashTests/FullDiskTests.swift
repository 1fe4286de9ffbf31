import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 8: opening, removing and reading need no room; putting reports that there is none.
@Suite struct FullDiskTests {
  /// A store into memory without a block on the disk could not be refused.
  @Test func mappingsAreNotWrittenIfBlocksAreNotPromised() throws {
    let work = try Workload(promisesAllocation: false)
    for number in 0..<40 { try work.put("k\(number)", Workload.bytes(900, number), synced: number % 3 == 0) }
    #expect(!work.world.disk.operations.contains { $0.name == "store" })
  }

  @Test func fullDiskMakesPutsEvictAndFailsNoOtherCall() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    for number in 0..<60 { try work.put("k\(number)", Workload.bytes(9000, number)) }
    work.world.disk.fillUp()
    // The budget would allow many more.
    for number in 60..<120 { try work.put("k\(number)", Workload.bytes(9000, number)) }
    #expect(work.store.statistics().evictedCount > 20)
    for number in 110..<120 { #expect(work.store.bytes("k\(number)") == Workload.bytes(9000, number)) }
    for number in 0..<120 { try work.store.remove("k\(number)") }
    #expect(Accounts.check(work.store) == nil)
    work.world.disk.setCapacity(1 << 30)
    work.upkeep()
    try work.put("again", Workload.bytes(9000, 7))
    #expect(work.store.bytes("again") == Workload.bytes(9000, 7))
    #expect(Accounts.check(work.store) == nil)
  }

  /// Upkeep prepares the next segment before any put waits for it. On a disk that another program has filled, that
  /// is not worth an entry.
  @Test(arguments: [true, false]) func upkeepEvictsNothingForAFullDisk(_ refusesNewNames: Bool) throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    for number in 0..<60 { try work.put("k\(number)", Workload.bytes(9000, number)) }
    work.world.disk.fillUp(refusingNewNames: refusesNewNames)
    for _ in 0..<3 { work.upkeep() }
    #expect(work.store.count == 60 && work.store.statistics().evictedCount == 0)
    #expect(Accounts.check(work.store) == nil)
  }

  /// A disk without room for the checkpoints is refused by the creation, and not by a later change.
  @Test func createdStoreHasRoomForItsCheckpoints() throws {
    var created = 0
    for blocks in 0..<100 {
      var options = SimulatedDisk.Options()
      options.capacityByteCount = blocks * 4096
      let world = SimulatedWorld(disk: SimulatedDisk(options))
      guard
        let store = try? CacheStore.open(
          at: Workload.path, options: StoreOptions(byteBudget: 4 << 20), environment: world.environment)
      else { continue }
      created += 1
      world.disk.fillUp()
      for _ in 0..<3 { try store.checkpoint() }
      #expect(try !store.remove("nothing"))
      try store.close()
    }
    #expect((20..<90).contains(created))
  }

  @Test func aFullDiskIsCompactedIntoTheSpare() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    for number in 0..<200 { try work.put("k\(number)", Workload.bytes(9000, number)) }
    for number in 0..<200 where number % 4 != 0 { try work.remove("k\(number)") }
    work.world.disk.fillUp()
    let report = try work.compact()
    #expect(report.recordsMoved > 40 && report.recordsDropped == 0)
    #expect(report.bytesAfter < report.bytesBefore - 1_000_000)
    for number in 0..<200 where number % 4 == 0 {
      #expect(work.store.bytes("k\(number)") == Workload.bytes(9000, number))
    }
    #expect(work.store.statistics().evictedCount == 0 && Accounts.check(work.store) == nil)
    let dead = work.store.statistics().segments.filter { !$0.isOpen }.reduce(0) { $0 + $1.deadByteCount }
    #expect(dead * 50 <= work.store.statistics().liveByteCount)
  }

  @Test func compactionWithoutNewFilesKeepsEveryEntry() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    for number in 0..<200 { try work.put("k\(number)", Workload.bytes(9000, number)) }
    for number in 0..<200 where number % 4 != 0 { try work.remove("k\(number)") }
    try work.store.flush()
    work.world.disk.fillUp(refusingNewNames: true)
    // Only the room reserved for copies is left.
    let report = try work.compact()
    #expect(report.recordsMoved > 5 && report.recordsDropped == 0)
    #expect(report.bytesAfter < report.bytesBefore * 9 / 10, "\(report)")
    #expect(work.store.count == 50 && work.store.statistics().evictedCount == 0)
    for number in stride(from: 0, to: 200, by: 4) {
      #expect(work.store.bytes("k\(number)") == Workload.bytes(9000, number))
    }
    #expect(Accounts.check(work.store) == nil)
  }

  /// The room of a checkpoint was taken, with its blocks, before the put that made it necessary, and is there after
  /// a crash.
  @Test(arguments: [true, false]) func checkpointsHaveTheRoomThatThePutsBeforeThemTook(_ crashes: Bool) throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    let disk = work.world.disk
    let made = disk.operationCount
    var number = 0
    func hasGrown() -> Bool {
      disk.operations.contains {
        $0.index >= made && $0.path.contains("/checkpoints/") && ["allocate", "truncate"].contains($0.name)
      }
    }
    while !hasGrown() {
      for _ in 0..<100 {
        try work.store.put([], for: "k\(number)")
        number += 1
      }
      try #require(number < 20_000)
    }
    try work.store.flush()
    var store = work.store
    var world = work.world
    if crashes {
      store.abandon()
      world = world.rebooted(disk.crashStates().disk(.everythingLost))
      world.disk.fillUp(refusingNewNames: true)
      store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    } else {
      disk.fillUp(refusingNewNames: true)
    }
    try store.checkpoint()
    #expect(store.count == number)
    store.abandon()
    let again = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let last = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: again.environment)
    #expect(last.count == number)
  }

  /// Both files have their blocks from the start, including one that was lost and recreated.
  @Test(arguments: [false, true]) func checkpointsOfANewStoreNeedNoRoom(_ isMadeAnew: Bool) throws {
    let work = try Workload(options: StoreOptions(byteBudget: 16 << 20))
    var (world, store) = (work.world, work.store)
    try store.put(Workload.bytes(900, 1), for: "k")
    if isMadeAnew {
      try store.close()
      world = world.rebooted(world.disk.copy())
      #expect(world.disk.remove("\(Workload.path)/checkpoints/0.checkpoint"))
      store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    }
    world.disk.fillUp(refusingNewNames: true)
    for number in 0..<400 where store.probe.hasRoomForIndex(moreKeys: 1) {
      try store.put([], for: "k\(number)")
    }
    for _ in 0..<3 { try store.checkpoint() }
    try store.close()
  }

  /// Its head has blocks too, before it is known.
  @Test func completeBodyIsCommittedOnAFullDisk() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    let writer = try work.writer("a", length: nil)
    try writer.write(Workload.bytes(300_000, 1))
    work.world.disk.fillUp(refusingNewNames: true)
    try writer.commit()
    #expect(work.store.bytes("a") == Workload.bytes(300_000, 1))
    #expect(Accounts.check(work.store) == nil)
  }

  @Test func aFullDiskStillOpensReadsAndRemoves() throws {
    let work = try Workload()
    for number in 0..<20 { try work.put("k\(number)", Workload.bytes(900, number), synced: true) }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    world.disk.fillUp(refusingNewNames: true)
    for round in 0..<6 {
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("k7") == Workload.bytes(900, 7))
      #expect(try store.remove("k\(10 + round)", durability: .synced))
      if round % 2 == 0 { try store.close() } else { store.abandon() }
    }
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.count == 14)
    world.disk.setCapacity(1 << 30)
    try store.put(Workload.bytes(50_000, 1), for: "room again")
    #expect(store.bytes("room again") == Workload.bytes(50_000, 1))
  }

  /// Frames of a burst are stored through a mapping, those before a sync are written.
  @Test(arguments: [true, false]) func frameIsStoredThroughAMappingOnlyIfBlocksArePromised(_ isPromised: Bool) throws {
    let work = try Workload(promisesAllocation: isPromised)
    for number in 0..<400 { try work.put("k\(number % 8)", Workload.bytes(100, number)) }
    let stores = work.world.disk.operations.filter { $0.name == "store" && $0.path.hasPrefix("\(Workload.path)/wal/") }
    #expect(stores.isEmpty != isPromised)
  }
}
