import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Rule 7: a failed sync leaves pages in memory that look written and are not.
@Suite struct FailedSyncTests {
  func isWriteFailed(_ error: any Error) -> Bool {
    if case .writeFailed? = error as? StoreError { true } else { false }
  }

  /// A store with a synced entry and an unsynced one, and a disk that fails to write back the latter.
  private func someUnsynced(_ call: DiskCall, _ folder: String) throws -> Workload {
    let work = try Workload()
    try work.put("before", Workload.bytes(700, 1), synced: true)
    try work.put("unsynced", Workload.bytes(900, 2))
    work.world.disk.plan(Fault(call, on: .containing(folder), .loseUnsyncedPages(5)))
    return work
  }

  @Test(arguments: ["wal", "segments"])
  func failedSyncEndsAllAcknowledgements(_ folder: String) throws {
    let work = try someUnsynced(.syncFile, "/\(folder)/")
    #expect { try work.store.flush() } throws: { isWriteFailed($0) }
    // The sync would now succeed without effect; the store refuses it.
    #expect { try work.store.flush() } throws: { isWriteFailed($0) }
    #expect { try work.store.put([1], for: "later") } throws: { isWriteFailed($0) }
    #expect(work.store.bytes("before") == Workload.bytes(700, 1))
  }

  @Test(arguments: ["wal", "segments"])
  func syncedChangeWithAFailedSyncEndsAllWriting(_ folder: String) throws {
    let changes: [(CacheStore) throws -> Void] = [
      { try $0.put(Workload.bytes(40_000, 3), for: "b", options: PutOptions(durability: .synced)) },
      { try $0.remove("before", durability: .synced) }, { try $0.removeAll(durability: .synced) },
    ]
    for change in changes.prefix(folder == "wal" ? 3 : 1) {
      let work = try someUnsynced(.syncFile, "/\(folder)/")
      #expect { try change(work.store) } throws: { isWriteFailed($0) }
      #expect { try work.store.put([1], for: "later") } throws: { isWriteFailed($0) }
    }
  }

  /// The system reports a failed write to one sync only. A move of the log meets it, and a thread waits for its frame.
  @Test func failedSyncOfTheLogIsKnownToAllWaiters() throws {
    let work = try someUnsynced(.syncFile, "/wal/")
    let log = work.store.probe.wal
    #expect(throws: SystemError.self) { try log.sync() }
    #expect(throws: SystemError.self) { try log.makeDurable(below: log.appendedSequence) }
  }

  @Test func syncOfTheLogMakesItsFramesDurable() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1))
    let log = work.store.probe.wal
    #expect(log.durableSequence < log.appendedSequence)
    try log.sync()
    #expect(log.durableSequence == log.appendedSequence)
  }

  @Test func flushAfterOneShortOfMemorySyncsItsSegments() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1))
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .fail(ErrorCode.noMemory)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    try work.store.flush()
    let left = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(again.bytes("k") == Workload.bytes(9000, 1))
  }

  /// If the log is written by calls and not by a mapping, its frame may fail.
  @Test func changeWithAFailedFrameIsInvisible() throws {
    let work = try Workload(promisesAllocation: false)
    try work.put("k", Workload.bytes(700, 1), synced: true)
    work.world.disk.plan(Fault(.write, on: .containing("/wal/"), .fail(ErrorCode.inputOutput)))
    #expect { try work.store.put(Workload.bytes(700, 2), for: "k") } throws: { isWriteFailed($0) }
    #expect(work.world.disk.strikeCount == 1)
    #expect(work.store.bytes("k") == Workload.bytes(700, 1))
  }

  /// After a failed sync of any call, changes without a sync are refused, too.
  @Test func failedSyncOfAnyCallerEndsAllWriting() throws {
    let calls: [(folder: String, call: (CacheStore) throws -> Void)] = [
      ("wal", { try $0.flush() }), ("segments", { try $0.flush() }),
      ("wal", { try $0.checkpoint() }), ("segments", { try $0.checkpoint() }),
      ("checkpoints", { try $0.checkpoint() }),
      (
        "wal",
        { store in try store.probe.retireDeadSegments() }
      ),
    ]
    for (folder, call) in calls {
      let work = try Workload()
      // In two segments, and the first has no live record left.
      for key in ["a", "b"] { try work.put(key, Workload.bytes(40_000, key == "a" ? 1 : 2)) }
      try work.remove("a")
      work.world.disk.plan(Fault(.syncFile, on: .containing("/\(folder)/"), .loseUnsyncedPages(5)))
      #expect { try call(work.store) } throws: { isWriteFailed($0) }
      #expect { try work.store.put([1], for: "later") } throws: { isWriteFailed($0) }
    }
  }

  /// A segment without a descriptor for its sync was not synced, and is not vouched for.
  @Test func segmentThatCannotBeOpenedForASyncIsNotDurable() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1))
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.bytes("a") == Workload.bytes(700, 1))
    for _ in 0..<3 {
      world.disk.plan(Fault(.openFile, on: .containing("/segments/"), .fail(24)))
      _ = try? store.checkpoint()
    }
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: .never), environment: last.environment)
    let found = again.bytes("a")
    #expect(found == nil || found == Workload.bytes(700, 1))
    #expect(try again.verify().isOK)
  }

  /// More segments are written than files stay open, so their content is only in the page cache.
  @Test func segmentWithoutADescriptorForItsSyncIsNotVouchedFor() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 64 << 20, segmentByteCount: 65_536))
    var bytes = Workload.bytes(60_000, 1)
    let count = 256 + 6
    try work.store.growLog()
    try work.store.checkpoint()
    func value(_ number: Int) -> [UInt8] {
      (bytes[0], bytes[1]) = (UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8))
      return bytes
    }
    for number in 0..<count { try work.store.put(value(number), for: "k\(number)") }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    world.disk.plan(Fault(.openFile, on: .containing("/segments/"), isLasting: true, .fail(24)))
    #expect(throws: StoreError.self) { try store.checkpoint() }
    world.disk.removeFaults()
    try store.checkpoint()
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    for number in count - 6..<count { #expect(again.bytes("k\(number)") == value(number), "k\(number)") }
    store.abandon()
  }

  /// The next opening has to distrust the records that this one could not sync.
  @Test func recoveryWithAFailedSyncLeavesTheMark() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    world.disk.plan(Fault(.syncFile, on: .containing("/wal/"), .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) {
      try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    }
    let lock = String(decoding: world.disk.contents("\(Workload.path)/LOCK") ?? [], as: UTF8.self)
    #expect(lock.contains("sync-failed"), "\(lock)")
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.bytes("a") == Workload.bytes(700, 1))
  }

  /// The kernel reports an error once; a sync after a failed write-back would not report it.
  @Test func aFailedWriteBackIsAFailedSync() throws {
    let work = try someUnsynced(.writeBack, "/segments/")
    work.world.background.runAll()
    #expect { try work.store.flush() } throws: { isWriteFailed($0) }
    #expect { try work.store.put([1], for: "later") } throws: { isWriteFailed($0) }
  }

  @Test(arguments: ["wal", "segments"])
  func nextOpeningChecksAndRewritesUnvouchedRecords(_ folder: String) throws {
    let work = try someUnsynced(.syncFile, "/\(folder)/")
    #expect(throws: StoreError.self) { try work.store.flush() }
    // The process ends, the system lives: its memory still shows the pages that the disk does not have.
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    let lock = String(decoding: world.disk.contents("\(Workload.path)/LOCK") ?? [], as: UTF8.self)
    #expect(lock.hasPrefix("vitrine ") && !lock.contains("sync-failed"), "it is all well again: \(lock)")
    #expect(store.bytes("before") == Workload.bytes(700, 1))
    let found = store.bytes("unsynced")
    #expect(found == Workload.bytes(900, 2) || found == nil)
    try store.put(Workload.bytes(100, 3), for: "after", options: PutOptions(durability: .synced))
    // Now the power is lost, and with it every page that was only in memory.
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    #expect(again.bytes("before") == Workload.bytes(700, 1))
    #expect(again.bytes("after") == Workload.bytes(100, 3))
    #expect(again.bytes("unsynced") == found)
    #expect(try again.verify().isOK)
  }

  /// Without room for copies, the same bytes are written to the same place, and no entry is evicted for it.
  @Test(arguments: [true, false]) func fullStoreOrDiskKeepsDoubtfulRecords(_ isDiskFull: Bool) throws {
    let work = try Workload()
    for number in 0..<(isDiskFull ? 4 : 24) {
      try work.put("k\(number)", Workload.bytes(isDiskFull ? 9000 : 30_000, number), synced: true)
    }
    try work.put("sharer", Workload.bytes(9000, 0))
    // Only a reference keeps this payload in use.
    try work.put("gone", Workload.bytes(9000, 30))
    try work.put("reference", Workload.bytes(9000, 30))
    try work.remove("gone")
    let before = Inspection.contents(work.store, work.history.keys)
    work.world.disk.plan(Fault(.syncFile, .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    if isDiskFull { world.disk.fillUp(refusingNewNames: true) }
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(Inspection.contents(store, work.history.keys) == before)
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    #expect(Inspection.contents(again, work.history.keys) == before)
    #expect(try again.verify().isOK)
  }

  /// Only the log has two of them, and the third and the fourth share their payloads. All states up to the end of
  /// the next opening.
  @Test func rewritingLosesNoDurableEntry() throws {
    let work = try Workload()
    let values = [Workload.bytes(700, 1), Workload.bytes(700, 1), Workload.bytes(900, 2), Workload.bytes(900, 2)]
    for (number, bytes) in values.enumerated() { try work.put("k\(number)", bytes, synced: true) }
    // A payload lost with the power is also lost for its sharers.
    for key in ["unsynced", "sharer"] { try work.put(key, Workload.bytes(9000, 4)) }
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let first = world.disk.operationCount
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    let last = world.disk.operationCount
    #expect(store.statistics().blobCount == 3)
    store.abandon()
    var count = 0
    for crash in world.disk.crashes(mixtures: 2, seed: 1, maximumAlone: 4, after: Array(first...last)) {
      count += 1
      guard Thoroughness.takes(count) else { continue }
      let left = world.rebooted(crash.disk())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      for (number, bytes) in values.enumerated() { #expect(again.bytes("k\(number)") == bytes, "\(crash): k\(number)") }
      left.background.runAll()
      #expect(Accounts.check(again) == nil, "\(crash)")
      #expect(try again.verify().isOK, "\(crash)")
      again.abandon()
    }
    #expect(count > 50)
  }

  /// If the log has no room for all the segments of copies, the rest is written in place. No checkpoint makes room
  /// meanwhile: it would name records that are not durable, and their shared payloads would be lost.
  @Test(arguments: [1, 2]) func fullLogWritesNoCheckpointOfDoubtfulRecords(_ freeCount: Int) throws {
    // The smallest log, and more segments than it has room for.
    let world = SimulatedWorld(seed: 1)
    let small = try CacheStore.open(
      at: Workload.path, options: StoreOptions(byteBudget: CacheFormat.smallestBudget), environment: world.environment)
    try small.close()
    let options = StoreOptions(byteBudget: 128 << 20, segmentByteCount: CacheFormat.smallestSegment)
    let store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    var bytes = Workload.bytes(60_000, 1)
    func value(_ number: Int) -> [UInt8] {
      (bytes[0], bytes[1]) = (UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8))
      return bytes
    }
    // In one segment, with lost pages.
    try store.put(value(0), for: "k0")
    try store.put(value(0), for: "sharer")
    var count = 1
    while store.probe.log.freeCount > freeCount || store.probe.log.room > 1024 {
      try store.put(value(count), for: "k\(count)")
      count += 1
    }
    world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) { try store.flush() }
    let next = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: next.environment)
    #expect(again.count == count + 1)
    again.abandon()
    func writes(_ file: String) -> Int {
      next.disk.operations.count { $0.site?.description.hasPrefix("\(file).swift") ?? false }
    }
    // One file is for the recovery; if it is the last, there is no room for copies at all.
    #expect(freeCount == 1 ? writes("RecordWriter") == 0 : writes("RecordWriter") > 100)
    #expect(writes("FailedSyncRecovery") > 10)
    // The header of a checkpoint is written last, and then synced.
    let headers = next.disk.operations.filter { $0.path.contains("/checkpoints/") && $0.byteRange == 0..<4096 }
    #expect(!headers.isEmpty)
    for header in headers {
      let left = next.rebooted(next.disk.crashStates(after: header.index + 2).disk(.everythingLost))
      let last = try CacheStore.open(
        at: Workload.path, options: StoreOptions(verification: .never), environment: left.environment)
      for number in 0..<count { #expect(last.bytes("k\(number)") == value(number), "k\(number) after \(header)") }
      #expect(last.bytes("sharer") == value(0), "after \(header)")
      #expect(last.statistics().damagedCount == 0, "after \(header)")
      #expect(try last.verify().isOK, "after \(header)")
      last.abandon()
    }
  }

  /// A full disk may have room for copies and none for the index with them.
  @Test func doubtfulRecordsAreRewrittenInPlaceWithoutRoomForTheIndex() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 64 << 20))
    try work.store.growLog()
    try work.store.checkpoint()
    let room = work.store.probe.indexRoom
    var count = 0
    while work.store.probe.hasRoomForIndex(moreKeys: count) {
      try work.put("k\(count)", Workload.bytes(8, count))
      count += 1
    }
    try work.store.probe.steps.makeSpares(8)
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .loseUnsyncedPages(5)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    world.disk.fillUp()
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.count == count)
    #expect(store.probe.indexRoom == room)
    // Into another segment, or in place.
    let copies = world.disk.operations.count { operation in
      ["RecordWriter.swift", "FailedSyncRecovery.swift"].contains { operation.site?.description.hasPrefix($0) ?? false }
    }
    #expect(copies >= count)
    store.abandon()
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    for number in 0..<count { #expect(again.bytes("k\(number)") == Workload.bytes(8, number), "k\(number)") }
    #expect(try again.verify().isOK)
  }

  /// The mark stays until every doubtful record was rewritten and a checkpoint vouches for it.
  @Test(arguments: ["wal", "segments"])
  func killedRecoveryFromAFailedSyncStartsAgain(_ folder: String) throws {
    let work = try someUnsynced(.syncFile, "/\(folder)/")
    #expect(throws: StoreError.self) { try work.store.flush() }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let first = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    first.abandon()
    for moment in 0...world.disk.operationCount {
      let killed = world.rebooted(world.disk.crashStates(after: moment).diskAfterProcessDeath())
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: killed.environment)
      #expect(store.bytes("before") == Workload.bytes(700, 1), "killed after \(moment)")
      let found = store.bytes("unsynced")
      #expect(found == Workload.bytes(900, 2) || found == nil)
      try store.put(Workload.bytes(100, 3), for: "after", options: PutOptions(durability: .synced))
      try store.flush()
      let last = killed.rebooted(killed.disk.crashStates().disk(.everythingLost))
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.bytes("after") == Workload.bytes(100, 3), "killed after \(moment)")
      #expect(again.bytes("unsynced") == found, "killed after \(moment)")
    }
  }
}
