import Testing
import VitrineSimulation

@testable import Vitrine

/// Sequences that once lost entries or changes.
@Suite struct RegressionTests {
  private func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  private func killed(_ world: SimulatedWorld) -> SimulatedWorld {
    world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
  }

  private func location(_ name: String, _ store: CacheStore) throws -> Location {
    try #require(store.probe.location(of: CacheKey(name)))
  }

  /// A store rebuilt from the segments dropped all of a segment that the disk did not deliver at once.
  @Test(arguments: [DiskCall.read, .status, .openFile])
  func rebuildLosesOnlyUndeliverablePages(_ call: DiskCall) throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 256 << 10))
    for number in 0..<20 { try work.put("k\(number)", Workload.bytes(5000, number)) }
    try work.close()
    RecordedStore.loseIndex(work.world.disk)
    var refusals = 0
    for occurrence in 1...40 {
      let world = work.world.rebooted(work.world.disk.copy())
      world.disk.plan(Fault(call, on: .containing("/segments/"), occurrence: occurrence, .fail(ErrorCode.inputOutput)))
      let store: CacheStore
      do {
        store = try open(world)
      } catch {
        // The refused opening leaves the store unchanged, and the next one succeeds.
        refusals += 1
        let again = try open(world)
        let isWhole = (0..<20).allSatisfy { again.bytes("k\($0)") == Workload.bytes(5000, $0) }
        #expect(isWhole, "\(call) \(occurrence)")
        continue
      }
      // Undeliverable bytes of a get are another matter.
      world.disk.removeFaults()
      for number in 0..<20 {
        let isThere = store.bytes("k\(number)") == Workload.bytes(5000, number)
        #expect(isThere, "\(call) \(occurrence): k\(number)")
      }
    }
    #expect(call == .read ? refusals == 0 : refusals > 0)
  }

  @Test func noChangeIsDurableInAMovedFolder() throws {
    let calls: [(CacheStore) throws -> Void] = [
      { try $0.flush() }, { try $0.checkpoint() }, { try $0.setBudgets(entryBudget: 7) },
      { try $0.put([1], for: "a", options: PutOptions(durability: .synced)) },
      { try $0.remove("before", durability: .synced) }, { try $0.removeAll(durability: .synced) },
    ]
    for call in calls {
      let work = try Workload()
      try work.put("before", Workload.bytes(500, 1))
      work.world.disk.move(Workload.path, to: "/elsewhere")
      #expect(throws: StoreError.storeRemoved) { try call(work.store) }
      #expect(throws: StoreError.storeRemoved) { try work.store.put([1], for: "later") }
    }
  }

  /// A check before a sync says nothing about the folder that the sync reaches.
  @Test func noChangeIsDurableIfItsFolderIsMovedDuringTheSync() throws {
    let calls: [(CacheStore) throws -> Void] = [
      { try $0.put([1], for: "a", options: PutOptions(durability: .synced)) },
      { try $0.remove("before", durability: .synced) }, { try $0.removeAll(durability: .synced) },
      { try $0.flush() }, { try $0.checkpoint() }, { try $0.setBudgets(entryBudget: 7) }, { try $0.close() },
    ]
    for call in calls {
      let work = try Workload()
      try work.put("before", Workload.bytes(500, 1))
      work.world.disk.planDuringSync(1, isDurable: true) { [disk = work.world.disk] in
        disk.move(Workload.path, to: "/elsewhere")
      }
      #expect(throws: StoreError.storeRemoved) { try call(work.store) }
      #expect(work.world.disk.contents("/elsewhere/STORE") != nil)
    }
  }

  /// Adapters conceal a value that they could not store. A store that can still write keeps it.
  @Test func aRefusedKeyIsConcealedOnlyAfterAFailure() throws {
    let work = try Workload()
    let store = work.store
    for key in ["a", "b"] { try work.put(key, Workload.bytes(500, 1), synced: true) }
    store.conceal(CacheKey("a"))
    store.concealAll()
    #expect(store.bytes("a") == Workload.bytes(500, 1) && store.count == 2)
    work.world.disk.plan(Fault(.syncFile, isLasting: true, .fail(ErrorCode.inputOutput)))
    #expect(throws: StoreError.self) { try store.put([1], for: "c", options: PutOptions(durability: .synced)) }
    #expect(throws: StoreError.self) { try store.put([1], for: "a") }
    store.conceal(CacheKey("a"))
    #expect(store.bytes("a") == nil && store.bytes("b") == Workload.bytes(500, 1))
    store.concealAll()
    #expect(store.bytes("b") == nil && store.count == 0)
    work.world.disk.removeFaults()
    try? store.close()
    // The disk is unchanged.
    let left = work.world.rebooted(work.world.disk.copy())
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(again.bytes("a") == Workload.bytes(500, 1) && again.bytes("b") == Workload.bytes(500, 1))
    try again.close()
  }

  /// With unknown length, it is in a separate file before it is known to be small.
  @Test func bodyAlteredInItsFileIsNotStored() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 256 << 10))
    let writer = try work.writer("a", length: nil)
    try writer.write(Workload.bytes(80_000, 1))
    let file = try #require(work.world.disk.operations.last { $0.name == "write" }?.path)
    work.world.disk.damage(file) { $0[$0.count / 2] ^= 1 }
    #expect(throws: StoreError.self) { try writer.commit() }
    #expect(work.store.bytes("a") == nil)
  }

  @Test func openingsWithoutAWriteKeepTheChainOfTheLog() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    var world = work.world
    for round in 0..<6 {
      for _ in 0..<round {
        world = killed(world)
        _ = try open(world)
      }
      world = killed(world)
      let store = try open(world)
      #expect(store.statistics().lastOpen.notes == [])
      try store.put(Workload.bytes(500, 10 + round), for: "r\(round)", options: PutOptions(durability: .synced))
    }
    world = killed(world)
    let store = try open(world)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    for round in 0..<6 { #expect(store.bytes("r\(round)") == Workload.bytes(500, 10 + round)) }
    #expect(Accounts.check(store) == nil)
  }

  @Test func aBatchMayHandABlobFromOneKeyToAnother() throws {
    let work = try Workload()
    let (x, y, z) = (Workload.bytes(300, 1), Workload.bytes(300, 2), Workload.bytes(300, 3))
    try work.put("a", x, synced: true)
    try work.put("b", y, synced: true)
    // A rename, a swap, and a value that is overwritten within the batch.
    try work.batch(puts: [("c", x)], removals: ["a"], synced: true)
    try work.batch(puts: [("b", x), ("c", y)], synced: true)
    try work.batch(puts: [("a", z), ("a", x), ("d", z)], removals: ["c"], synced: true)
    try work.put("after", z, synced: true)
    for world in [work.world, killed(work.world)] {
      let store = world.disk === work.world.disk ? work.store : try open(world)
      #expect(store.statistics().lastOpen.notes == [])
      #expect(store.bytes("a") == x)
      #expect(store.bytes("b") == x)
      #expect(store.bytes("c") == nil)
      #expect(store.bytes("d") == z)
      #expect(store.bytes("after") == z)
      #expect(Accounts.check(store) == nil)
    }
  }

  @Test func keyWithADamagedReferenceIsDroppedAndTheLogStaysValid() throws {
    let work = try Workload()
    let shared = Workload.bytes(300, 1)
    try work.put("a", shared)
    try work.put("b", shared)
    try work.close()
    let world = killed(work.world)
    let path = try #require(world.disk.filePaths.first { $0.contains("0001.segment") })
    let bytes = try #require(world.disk.contents(path))
    // The second record is the reference: damage its head.
    let place = try #require(
      (130..<bytes.count).first { Array(bytes[$0..<min($0 + 4, bytes.count)]) == Array("VREC".utf8) })
    #expect(world.disk.damage(path) { $0[place + 40] ^= 1 })
    let store = try open(world)
    #expect(store.bytes("b") == nil)
    try store.put(Workload.bytes(100, 2), for: "c", options: PutOptions(durability: .synced))
    let again = try open(killed(world))
    #expect(again.bytes("a") == shared)
    #expect(again.bytes("c") == Workload.bytes(100, 2))
    #expect(!again.statistics().lastOpen.mayHaveLostRemovals)
  }

  @Test func storeWithoutItsPayloadsOpensFromTheLog() throws {
    let work = try Workload()
    for number in 0..<(Thoroughness.isSanitized ? 200 : 900) {
      try work.put("k\(number)", Workload.bytes(200, number), synced: number % 100 == 0)
    }
    let states = work.world.disk.crashStates()
    for seed in 0..<(Thoroughness.isSanitized ? 1 : 3) {
      let disk = states.disk(seed == 0 ? .everythingLost : .moments(seed: UInt64(seed)))
      let wrong = Inspection(history: work.history, moment: work.world.disk.operationCount, powerLost: true)
        .run(work.world.rebooted(disk))
      #expect(wrong == nil)
    }
  }

  @Test func changeOfMetadataNeverRestoresAnOlderValue() throws {
    let work = try Workload()
    let store = work.store
    let key = CacheKey("k")
    try store.put(Workload.bytes(100, 0), for: CacheKey("other"))
    try store.put(Workload.bytes(100, 0), for: key)
    let changer = ConcurrentLoop { _ = try? store.setMetadata([1], for: key) }
    for number in 1..<2000 {
      let value = Workload.bytes(100, number % 2)
      try store.put(value, for: key)
      #expect(store.bytes(key) == value)
    }
    changer.stop()
  }

  @Test func checkpointsBesideSyncedPutsLoseNoEntry() throws {
    let work = try Workload()
    let store = work.store
    let checkpointer = ConcurrentLoop { try? store.checkpoint() }
    for number in 0..<150 {
      try store.put(
        Workload.bytes(400, number), for: "k\(number % 40)", options: PutOptions(durability: .synced))
      if number % 10 == 9 {
        let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
        let left = try open(world)
        for back in max(0, number - 39)...number {
          #expect(left.bytes("k\(back % 40)") == Workload.bytes(400, back), "\(back) at \(number)")
        }
      }
    }
    checkpointer.stop()
  }

  /// An opening with a changed option writes a checkpoint before it checks the leftovers.
  private func openChanged(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(
      at: Workload.path, options: StoreOptions(compressionLevel: 7), environment: world.environment)
  }

  @Test func checkpointKeepsRecordsThatOnlyTheLogHas() throws {
    let work = try Workload()
    try work.put("b", Workload.bytes(700, 2))
    try work.put("a", Workload.bytes(700, 1), synced: true)
    // Both frames exist; one of them carries its record inline, the other's record is lost.
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    _ = try openChanged(world)
    for moment in 0...world.disk.operationCount {
      for policy in [CrashPolicy.everythingKept, .everythingLost] {
        let left = world.rebooted(world.disk.crashStates(after: moment).disk(policy))
        let store = try open(left)
        #expect(store.bytes("a") == Workload.bytes(700, 1), "\(policy) after \(moment)")
        #expect(store.bytes("b") == nil)
        #expect(Accounts.check(store) == nil, "\(policy) after \(moment)")
      }
    }
  }

  /// A process dies between a checkpoint's header and its sync, or in a failed sync; the power is lost in the next
  /// opening.
  @Test(arguments: [true, false]) func theOnlyDurableCheckpointIsNotWrittenOver(_ fails: Bool) throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    // Often enough that earlier checkpoints lead to log files that were reused.
    for number in 0..<100 {
      try work.put("turn", Workload.bytes(3000, number), synced: true)
      if number % 20 == 19 { try work.store.checkpoint() }
    }
    try work.put("b", Workload.bytes(700, 2), synced: true)
    let disk = work.world.disk
    if fails {
      // The sync of its header and no other.
      disk.plan(Fault(.syncFile, on: .containing("/checkpoints/"), .loseUnsyncedPages(5)))
      #expect(throws: StoreError.self) { try work.store.checkpoint() }
    } else {
      try work.store.checkpoint()
    }
    let header = try #require(disk.operations.last { $0.name == "write" && $0.path.contains("/checkpoints/") })
    let dead = fails ? disk.crashStates() : disk.crashStates(after: header.index + 1)
    let world = work.world.rebooted(dead.diskAfterProcessDeath())
    _ = try openChanged(world)
    for crash in world.disk.crashes(mixtures: 4, seed: 1, maximumAlone: 6) {
      let store = try open(world.rebooted(crash.disk()))
      #expect(store.statistics().lastOpen.kind != .rebuilt, "\(crash)")
      #expect(!store.statistics().lastOpen.mayHaveLostRemovals, "\(crash)")
      #expect(store.bytes("a") == Workload.bytes(700, 1) && store.bytes("b") == Workload.bytes(700, 2))
    }
  }

  @Test func aRecordIsNotBelievedWithoutItsChecks() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    let place = try location("k", work.store)
    #expect(work.store.probe.record(at: place) != nil)
    let file = "\(Workload.path)/segments/\(SegmentHeader.fileName(work.store.probe.segmentNumber(inSlot: place.slot)))"
    // The time of its put, on which nothing else depends.
    work.world.disk.damage(file) { $0[place.offset + 72] ^= 1 }
    #expect(work.store.probe.record(at: place, checks: false) != nil)
    #expect(work.store.probe.record(at: place) == nil)
  }

  /// A process dies while it creates a store, and the next one while it continues: a reader finds no damage.
  @Test func twiceKilledCreationLooksUnfinishedAndNotDamaged() throws {
    let making = SimulatedWorld(seed: 5)
    _ = try open(making)
    let end = try #require(making.disk.operations.last { $0.name == "rename" }).index + 2
    for moment in stride(from: Thoroughness.first, through: end, by: Thoroughness.stride) {
      let world = making.rebooted(making.disk.crashStates(after: moment).diskAfterProcessDeath())
      let first = world.disk.operationCount
      _ = try open(world)
      // Around each operation on STORE.
      let touching = world.disk.operations.filter { $0.index >= first && $0.path.contains("/STORE") }.map(\.index)
      for second in Set(touching + touching.map { $0 + 1 }).sorted() {
        let left = world.rebooted(world.disk.crashStates(after: second).diskAfterProcessDeath())
        guard
          let reader = try? CacheStore.open(
            at: Workload.path, options: StoreOptions(isReadOnly: true), environment: left.environment)
        else { continue }
        #expect(try reader.verify().damaged == [], "killed after \(moment), then after \(second)")
      }
    }
  }

  /// The log restores the payload when it is needed, also by `verify`, which may check its sharer first.
  @Test func sharerOfAnInlinePayloadIsNotLost() throws {
    let work = try Workload()
    for round in 0..<40 {
      // Freed places come before used ones, so the sharer's may precede its payload's.
      for number in 0..<4 { try work.put("filler\(number)", Workload.bytes(30_000, 10 * round + number)) }
      for number in 0..<4 { try work.remove("filler\(number)") }
      work.upkeep()
      let bytes = Workload.bytes(489, 1000 + round)
      try work.put("carried", bytes, synced: true)
      try work.put("filler0", Workload.bytes(60_000, 10 * round + 9))
      try work.put("sharer", bytes)
      let (payload, sharer) = (try location("carried", work.store), try location("sharer", work.store))
      guard sharer.slot < payload.slot else { continue }
      let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
      let file = SegmentHeader.fileName(work.store.probe.segmentNumber(inSlot: payload.slot))
      let damaged = world.disk.damage("\(Workload.path)/segments/\(file)") { content in
        for index in payload.offset..<payload.offset + 512 { content[index] = 0 }
      }
      #expect(damaged)
      for isReadOnly in [true, false] {
        let store = try CacheStore.open(
          at: Workload.path, options: StoreOptions(isReadOnly: isReadOnly), environment: world.environment)
        let report = try store.verify()
        #expect(report.isOK && report.lost.isEmpty, "\(report.lost)")
        #expect(store.bytes("sharer") == bytes)
        store.abandon()
      }
      return
    }
    Issue.record("no sharer lies before its payload")
  }
}
