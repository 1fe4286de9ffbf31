import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Rule 7, the opening that finds the mark of a failed sync: its duties, and the failures that may come meanwhile.
@Suite struct FailedSyncRecoveryTests {
  /// A store with a failed sync, and the environment after its process has died.
  private func afterAFailedSync(
    _ folder: String, _ options: StoreOptions = StoreOptions(byteBudget: 1 << 20), change: (Workload) throws -> Void
  ) throws -> (work: Workload, world: SimulatedWorld) {
    let work = try Workload(options: options)
    try change(work)
    work.world.disk.plan(Fault(.syncFile, on: .containing("/\(folder)/"), .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    return (work, work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath()))
  }

  private func open(_ world: SimulatedWorld, _ options: StoreOptions = StoreOptions()) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
  }

  /// The frames that killed its records may only look written.
  @Test func noSegmentIsUnlinkedWhileTheLogIsDoubtful() throws {
    var bytes = Workload.bytes(60_000, 1)
    let (_, world) = try afterAFailedSync("wal") { work in
      // One to a segment, until the budget has no room for another.
      for number in 0..<24 {
        bytes[0] = UInt8(number)
        try work.put("k\(number)", bytes, synced: true)
      }
      try work.checkpoint()
      // The recovery copies this record. It finds no room for the segment that the copy needs.
      try work.put("unsynced", Workload.bytes(9, 1))
      #expect(work.store.probe.missing(CacheFormat.smallestSegment) > 0)
      // The values are durable, and their removals are not.
      for number in stride(from: 0, to: 24, by: 2) { try work.remove("k\(number)") }
    }
    let before = try open(world.rebooted(world.disk.crashStates().disk(.everythingLost)))
    let durable = (0..<24).filter { before.bytes(CacheKey("k\($0)"))?.count == 60_000 }
    before.abandon()
    #expect(durable.count > 4 && durable.contains { $0 % 2 == 0 })
    let first = world.disk.operationCount
    try open(world).abandon()
    let operations = world.disk.operations.filter { $0.index >= first }
    let published = operations.first { $0.byteRange == 0..<4096 && $0.path.hasSuffix(".checkpoint") }
    let moment = try #require(published).index
    #expect(operations.allSatisfy { $0.name != "remove" || $0.index > moment })
    for policy in [CrashPolicy.everythingLost, .onlyNamesKept] {
      let again = try open(world.rebooted(world.disk.crashStates(after: moment).disk(policy)))
      for number in durable { #expect(again.bytes(CacheKey("k\(number)"))?.count == 60_000, "k\(number), \(policy)") }
      #expect(!again.statistics().lastOpen.mayHaveLostRemovals, "\(policy)")
      again.abandon()
    }
  }

  /// The list of doubtful entries names places, and the frames that killed records may be lost.
  @Test func noRecordIsMovedAndNoSegmentRetiredWhileDoubtfulEntriesAreRewritten() throws {
    let work = try Workload()
    // The first segment is dead, and the second one is sparse.
    try work.put("dead", Workload.bytes(60_000, 1))
    try work.put("removed", Workload.bytes(30_000, 2))
    try work.put("moved", Workload.bytes(25_000, 3))
    try work.put("open", Workload.bytes(60_000, 4))
    for key in ["dead", "removed"] { try work.remove(key) }
    try work.flush()
    let probe = work.store.probe
    let moved = CacheKey("moved")
    let place = probe.location(of: moved)
    func unlinkedCount() -> Int {
      work.world.disk.operations.count { $0.name == "remove" && $0.path.contains("/segments/") }
    }
    let unlinked = unlinkedCount()
    try probe.steps.mistrustingEarlierRecords { () throws(StoreError) in
      try probe.compactOnce(leastDead: 0.1) { true }
      try probe.retireDeadSegments()
    }
    #expect(probe.location(of: moved) == place && unlinkedCount() == unlinked)
    // Afterward, both are done.
    try probe.compactOnce(leastDead: 0.1) { true }
    #expect(probe.location(of: moved) != place && unlinkedCount() == unlinked + 2)
    #expect(work.store.bytes(moved) == Workload.bytes(25_000, 3))
  }

  /// A killed recovery leaves the mark to the next one.
  @Test func markStaysUntilACheckpointHasTheRewrittenRecords() throws {
    let (_, world) = try afterAFailedSync("segments") { try $0.put("unsynced", Workload.bytes(900, 2)) }
    let first = world.disk.operationCount
    try open(world).abandon()
    let header = world.disk.operations.last {
      $0.index >= first && $0.byteRange == 0..<4096 && $0.path.contains("/checkpoints/")
    }
    func isMarked(after moment: Int) throws -> Bool {
      let left = world.disk.crashStates(after: moment).diskAfterProcessDeath()
      let lock = try #require(left.contents("\(Workload.path)/LOCK"))
      return String(decoding: lock, as: UTF8.self).contains("sync-failed")
    }
    // Its sync is the operation after it.
    for moment in first...(try #require(header).index + 1) {
      #expect(try isMarked(after: moment), "after \(moment) operations")
    }
    #expect(try !isMarked(after: world.disk.operationCount))
  }

  /// With all files of the log in use, a recovery begins the last one again, and so does the next recovery.
  @Test func aRecoveryThatIsKilledTwiceFindsNoDamageInTheLog() throws {
    let (work, world) = try afterAFailedSync("segments") { work in
      var number = 0
      while work.store.probe.log.freeCount > 1 {
        try work.store.put(Workload.bytes(200, number), for: CacheKey("k\(number % 8)"))
        number += 1
      }
    }
    let keys = Set((0..<8).map { CacheKey("k\($0)") })
    let before = Inspection.contents(work.store, keys)
    func killed(_ world: SimulatedWorld, every step: Int) throws -> [SimulatedWorld] {
      let first = world.disk.operationCount
      try open(world).abandon()
      return stride(from: first, through: world.disk.operationCount, by: step).map { moment in
        world.rebooted(world.disk.crashStates(after: moment).diskAfterProcessDeath())
      }
    }
    var count = 0
    for once in try killed(world, every: 3) {
      for twice in try killed(once, every: 2) {
        let store = try open(twice)
        #expect(!store.statistics().lastOpen.mayHaveLostRemovals && store.statistics().lastOpen.notes.isEmpty)
        #expect(Inspection.contents(store, keys) == before)
        store.abandon()
        count += 1
      }
    }
    #expect(count > 20, "\(count)")
  }

  /// Pages that only look written may be dropped at any time: then they read as on the disk. Only bytes that look
  /// written are rewritten, as a copy, or in place if a full disk has no room for one.
  @Test(arguments: [false, true]) func pageDroppedDuringRecoveryIsNotRewritten(_ isDiskFull: Bool) throws {
    let value = Workload.bytes(9000, 2)
    let (work, world) = try afterAFailedSync("segments") { try $0.put("unsynced", value) }
    let path = "\(Workload.path)/segments/\(SegmentHeader.fileName(1))"
    let drop: InterventionPlan.Intervention = { core in
      // Later writes are dirty, and stay.
      let isDirty = core.journal.contains { $0.path == path && $0.byteRange?.overlaps(4096..<8192) ?? false }
      guard !isDirty, let inode = core.resolve(path) else { return }
      core.files[inode]?.write([UInt8](repeating: 0, count: 4096), at: 4096)
    }
    if isDiskFull { world.disk.fillUp(refusingNewNames: true) }
    let first = world.disk.callCount + 1
    try open(world).abandon()
    let last = world.disk.callCount
    var losses = 0
    // Before each call to the disk, and then before each full check of a value.
    for call in first...last + 8 {
      let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
      if isDiskFull { world.disk.fillUp(refusingNewNames: true) }
      var environment = world.environment
      if call <= last {
        world.disk.plan(before: call, isHarmless: true, drop)
      } else {
        let looks = Guarded(0)
        environment.digest = { [disk = world.disk] bytes in
          let look = looks.withLock { looks in
            looks += 1
            return looks
          }
          if look == call - last { disk.core.withLock { drop(&$0) } }
          return Digest(of: bytes)
        }
      }
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: environment)
      let found = store.bytes("unsynced")
      #expect(found == value || found == nil, "before call \(call)")
      losses += found == nil ? 1 : 0
      store.abandon()
      let left = world.rebooted(world.disk.crashStates().disk(.everythingLost))
      #expect(try open(left, StoreOptions(verification: .never)).bytes("unsynced") == found, "before call \(call)")
    }
    #expect(losses > 0)
  }

  /// A disk or a limit that refuses even overwriting in place.
  @Test(arguments: [ErrorCode.noSpace, ErrorCode.fileTooLarge]) func recordThatCannotBeRewrittenIsKept(_ code: Int32)
    throws
  {
    let (work, world) = try afterAFailedSync("segments") { work in
      try work.put("before", Workload.bytes(700, 1), synced: true)
      try work.checkpoint()
      try work.put("unsynced", Workload.bytes(900, 2))
    }
    let before = Inspection.contents(work.store, work.history.keys)
    world.disk.plan(Fault(.write, on: .containing("/segments/"), isLasting: true, .fail(code)))
    #expect(throws: StoreError.noSpace) { try open(world) }
    world.disk.removeFaults()
    let store = try open(world)
    #expect(Inspection.contents(store, work.history.keys) == before)
  }

  /// A mark is below a payload that a record behind the mark of another segment refers to.
  @Test func referenceToADoubtfulPayloadIsRewritten() throws {
    let value = Workload.bytes(3000, 2)
    var doubtful: UInt64?
    let (_, world) = try afterAFailedSync("wal") { work in
      let probe = work.store.probe
      try work.put("before", Workload.bytes(700, 1))
      let slow = probe.reserve(headByteCount: 128, payloadByteCount: 400) { $1.live.count > 0 }
      let segment = try #require(slow).segment
      try work.put("owner", value)
      var number = 0
      while probe.account(segment).state == .open {
        try work.put("k\(number)", Workload.bytes(9000, number))
        number += 1
      }
      try work.put("reference", value)
      try work.checkpoint()
      let record = try #require(place(CacheKey("reference"), in: work.store))
      #expect(probe.isVouched(record.own) && !probe.isVouched(record.payload))
      doubtful = probe.segmentNumber(inSlot: record.payload.slot)
      #expect(doubtful == segment.id && probe.segmentNumber(inSlot: record.own.slot) != segment.id)
      try work.put("unsynced", Workload.bytes(900, 3))
    }
    let store = try open(world)
    let record = try #require(place(CacheKey("reference"), in: store))
    #expect(store.probe.segmentNumber(inSlot: record.payload.slot) != doubtful && store.probe.isVouched(record.payload))
    #expect(store.bytes("reference") == value && store.bytes("owner") == value)
    #expect(Accounts.check(store) == nil)
  }

  /// The place of a key's record, and of its payload.
  private func place(_ key: CacheKey, in store: CacheStore) -> (own: Location, payload: Location)? {
    guard let own = store.probe.location(of: key), let header = store.probe.record(at: own)?.header else { return nil }
    return header.carriesPayload ? (own, own) : store.probe.payloadLocation(of: header).map { (own, $0) }
  }

  /// A value that was put into a larger budget may exceed the present limit of a value. It is evicted, since the
  /// budget holds when the opening returns.
  @Test func storeOpensWithASmallerBudget() throws {
    let (work, world) = try afterAFailedSync("segments", StoreOptions(byteBudget: 16 << 20)) { work in
      try work.put("large", Workload.bytes(5 << 20, 1))
    }
    #expect(work.store.bytes("large") != nil)
    let store = try open(world, StoreOptions(byteBudget: 2 << 20))
    #expect(store.bytes("large") == nil && store.statistics().bytesOnDisk <= 2 << 20)
    try store.put([1], for: "small", options: PutOptions(durability: .synced))
    store.abandon()
    let left = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try open(left)
    #expect(again.bytes("large") == nil && again.bytes("small") == [1])
  }

  /// An unreadable lock file may contain a mark.
  @Test func aLockThatCannotBeReadCountsAsMarked() throws {
    let (_, world) = try afterAFailedSync("segments") { try $0.put("unsynced", Workload.bytes(900, 2)) }
    world.disk.plan(Fault(.read, on: .suffix("/LOCK"), isLasting: true, .fail(5)))
    let store = try open(world)
    let found = store.bytes("unsynced")
    #expect(found != nil)
    try store.flush()
    let left = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    #expect(try open(left).bytes("unsynced") == found)
  }

  /// The copies keep the order of their originals.
  @Test func rewrittenRecordsKeepTheirOrder() throws {
    let (_, world) = try afterAFailedSync("segments") { work in
      for number in 0..<40 { try work.put("k\(number)", Workload.bytes(100, number)) }
    }
    func order(_ store: CacheStore) -> [CacheKey] {
      var entries: [(UInt32, CacheKey)] = []
      store.forEachEntry { entry in
        let stamp = store.probe.slot(of: entry.key)?.stamp ?? 0
        let now = UInt32(truncatingIfNeeded: store.probe.recencyCount)
        entries.append((RecencyClock.age(of: stamp, at: now), entry.key))
        return true
      }
      return entries.sorted { $0.0 > $1.0 }.map(\.1)
    }
    let store = try open(world)
    #expect(order(store) == (0..<40).map { CacheKey("k\($0)") })
  }
}
