import Foundation
import Testing

@testable import Vitrine

/// What another thread does between two steps of a change, made to happen just there: while the disk is at work.
@Suite struct InterleavingTests {
  private let disk = MemoryDisk()
  private let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// Runs `body` on a thread of its own, and waits for it.
  private func elsewhere(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      body()
      done.signal()
    }
    done.wait()
  }

  /// Runs `body` once, elsewhere, when the next record is about to be written to a segment.
  private func beforeTheNextRecord(_ body: @escaping @Sendable (_ path: String, _ offset: Int) -> Void) {
    let isDue = Guarded(true)
    disk.onWrite.withLock { handler in
      handler = { [disk] path, offset in
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        guard
          isDue.withLock({ isDue in
            defer { isDue = false }
            return isDue
          })
        else { return }
        // What it holds holds the disk.
        disk.onWrite.withLock { $0 = nil }
        elsewhere { body(path, offset) }
      }
    }
  }

  private func location(_ store: CacheStore, _ key: CacheKey) -> Location? {
    let hash = key.url.withUnsafeBytes { store.core.catalog.hasher.key($0, styleTag: key.style.tag) }
    return store.core.catalog.keys.find(hash, counts: false) { $0.location }
  }

  // MARK: Sharing

  @Test func bytesThatWereStoredMeanwhileAreShared() throws {
    let store = try world.open("store")
    let bytes = noise(3000)
    beforeTheNextRecord { _, _ in try? store.put(bytes, for: "a") }
    try store.put(bytes, for: "b")
    #expect(store["a"] == bytes && store["b"] == bytes && store.statistics().blobCount == 1)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func bytesThatHaveGoneMeanwhileAreStored() throws {
    let store = try world.open("store")
    let bytes = noise(3000)
    try store.put(bytes, for: "a")
    beforeTheNextRecord { _, _ in _ = try? store.remove("a") }
    try store.put(bytes, for: "b")
    #expect(store["b"] == bytes && store["a"] == nil && store.count == 1)
    try store.put([1], for: "c")
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// The place of what was to be shared belongs to another record by then, with the same bytes.
  @Test func aPlaceThatWasGivenAnewMeanwhileIsNotShared() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    let bytes = noise(50_000)
    try store.put(bytes, for: "a")
    try store.put(noise(30_000, 2), for: "in the next segment")
    let place = try #require(location(store, CacheKey("a")))
    let hasPlace = Guarded(false)
    beforeTheNextRecord { [world, disk] _, _ in
      disk.onWrite.withLock { $0 = nil }
      _ = try? store.remove("a")
      for _ in 0..<20 {
        world.background.run()
        try? store.put(bytes, for: "e")
        if location(store, CacheKey("e")) == place { return hasPlace.withLock { $0 = true } }
        _ = try? store.remove("e")
      }
    }
    try store.put(bytes, for: "b")
    #expect(hasPlace.withLock { $0 }, "the place was not given anew")
    #expect(store["b"] == bytes && store["e"] == bytes)
    #expect(try store.verify().isOK)
    try store.close()
  }

  // MARK: Entries

  /// Also while another key still has the bytes that were replaced.
  @Test(arguments: [false, true])
  func metadataOfAnEntryThatWasReplacedMeanwhileBringsNothingBack(_ isShared: Bool) throws {
    let store = try world.open("store")
    try store.put(noise(3000, 1), for: "a")
    if isShared { try store.put(noise(3000, 1), for: "b") }
    beforeTheNextRecord { _, _ in try? store.put(noise(3000, 2), for: "a") }
    #expect(try store.setMetadata([7], for: CacheKey("a")))
    #expect(store["a"] == noise(3000, 2))
    if case .found(let info) = store.lookup("a") { #expect(info.metadata == [7]) }
    try store.close()
  }

  @Test func whatFollowsAnOriginalFollowsTheOneThatIsThereAtTheCommit() throws {
    let store = try world.open("store")
    let square = Style("square")!
    try store.put(noise(3000, 1), for: "a")
    let newest = noise(3000, 2)
    beforeTheNextRecord { _, _ in try? store.put(newest, for: "a") }
    try store.put(noise(200, 3), for: CacheKey("a", square))
    guard case .found(let info) = store.lookup(CacheKey("a", square)) else {
      Issue.record("it is not there")
      return
    }
    #expect(info.source == Source(newest.withUnsafeBytes { Digest(of: $0) }))
    try store.close()
  }

  @Test func aRecordThatHasAnothersPlaceIsNotRemovedForIt() throws {
    let store = try world.open("store")
    try store.put(noise(3000, 1), for: "a")
    let core = store.core
    let key = CacheKey("a")
    let hash = key.url.withUnsafeBytes { core.catalog.hasher.key($0, styleTag: key.style.tag) }
    let place = try #require(location(store, key))
    let sequence = try #require(core.catalog.record(at: place, checks: true)?.header.sequence)
    #expect(try core.tryToRemove([RecordName(hash: hash, location: place, sequence: sequence + 1)]) == 0)
    #expect(store["a"] == noise(3000, 1))
    #expect(try core.tryToRemove([RecordName(hash: hash, location: place, sequence: sequence)]) == 1)
    #expect(store["a"] == nil)
    try store.close()
  }

  // MARK: The log

  /// The log has turned between the writing of a checkpoint and its publishing: it begins in a file that is filled.
  @Test func theFileInWhichACheckpointBeginsStaysUntilTheNextOne() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    let wal = try #require(store.core.wal)
    let count = Guarded(0)
    let values = Guarded<[String: [UInt8]]>([:])
    @Sendable func put() throws {
      let number = count.withLock { count in
        count += 1
        return count
      }
      try store.put(noise(20, UInt64(number)), for: "\(number % 40)")
      values.withLock { $0["\(number % 40)"] = noise(20, UInt64(number)) }
    }
    func turn() throws {
      let use = wal.position.use
      while wal.position.use == use { try put() }
    }
    for _ in 0..<3 { try put() }
    disk.onSync.withLock { handler in
      handler = { [disk] path in
        guard path.hasPrefix("checkpoints/") else { return }
        disk.onSync.withLock { $0 = nil }
        let use = wal.position.use
        elsewhere { while wal.position.use == use { guard (try? put()) != nil else { return } } }
      }
    }
    let begun = wal.position.use
    try store.checkpoint()
    #expect(wal.position.use == begun + 1)
    for _ in 0..<4 {
      try turn()
      let world = TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2)
      let recovered = try world.open("store")
      #expect(!recovered.statistics().lastOpen.mayHaveLostRemovals)
      for (key, value) in values.withLock({ $0 }) { #expect(recovered[key] == value, "\(key)") }
      try recovered.close()
    }
    try store.close()
  }

  /// Rule 6. No mark passes a record that is on its way, so nothing vouches for what the log carries behind it, however many
  /// checkpoints cover that.
  @Test func aFileOfTheLogStaysUntilACheckpointVouchesForWhatItCarries() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    let core = store.core
    let wal = try #require(core.wal)
    try store.put(noise(500, 1), for: "before")
    try store.checkpoint()
    let slow = try #require(
      core.locked {
        core.openSegments.compactMap { $0 }.first { $0.liveCount > 0 }?
          .reserve(headByteCount: 128, payloadByteCount: 400, pageAligned: false)
      })
    try store.put(noise(700, 2), for: "carried", options: PutOptions(durability: .synced))
    let place = try #require(location(store, CacheKey("carried")))
    let use = wal.position.use
    let file = try #require(wal.files.first { $0.header?.use == use })
    var number: UInt64 = 0
    while wal.position.use == use {
      try store.put(noise(20, number), for: "\(number % 40)")
      number += 1
    }
    for _ in 0..<2 {
      try store.checkpoint()
      #expect(!core.catalog.segments.isVouched(place) && file.state == .filled && file.header?.use == use)
    }
    core.locked {
      slow.segment.filled(slow, isCarried: false)
      slow.segment.pendingCount -= 1
    }
    try store.checkpoint()
    #expect(core.catalog.segments.isVouched(place) && file.state == .free)
    try store.close()
  }

  /// The same of an opening that has replayed the file, and writes a checkpoint before it has checked what a crash left.
  @Test func aFileOfTheLogThatWasReplayedStaysUntilACheckpointVouchesForWhatItCarries() throws {
    let store = try world.open("store")
    try store.put(noise(700, 1), for: "carried", options: PutOptions(durability: .synced))
    let use = try #require(store.core.wal).position.use
    store.abandon()
    let world = TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2)
    // Other options are in force with a checkpoint.
    let again = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    let file = try #require(again.core.wal?.files.first { $0.header?.use == use })
    let place = try #require(location(again, CacheKey("carried")))
    #expect(!again.core.catalog.segments.isVouched(place) && file.state == .filled)
    try again.checkpoint()
    #expect(again.core.catalog.segments.isVouched(place) && file.state == .free)
    #expect(again["carried"] == noise(700, 1))
    try again.close()
  }

  // MARK: Syncs

  /// The kernel tells one of two syncs that they failed. The other's checkpoint would vouch for what is not on the disk.
  @Test func noSyncCountsBesideOneThatFails() throws {
    let store = try world.open("store")
    try store.put(noise(3000, 1), for: "a")
    let segments = store.core.catalog.segments.segments
    let segment = try #require(segments.compactMap { $0 }.first { $0.liveCount > 0 }).fileName
    let outcome = Guarded<StoreError?>(nil)
    let done = DispatchSemaphore(value: 0)
    disk.onSync.withLock { handler in
      handler = { [disk] path throws(SystemError) in
        guard path == "segments/\(segment)" else { return }
        disk.onSync.withLock { $0 = nil }
        Thread.detachNewThread {
          do throws(StoreError) { try store.checkpoint() } catch { outcome.withLock { $0 = error } }
          done.signal()
        }
        // Time for the whole of it, were it to go on.
        if done.wait(timeout: .now() + 0.3) == .success { done.signal() }
        throw SystemError(code: 5, operation: "sync", path: path)
      }
    }
    #expect(throws: StoreError.self) {
      try store.put(noise(40_000, 2), for: "b", options: PutOptions(durability: .synced))
    }
    done.wait()
    #expect({ if case .writeFailed? = outcome.withLock({ $0 }) { true } else { false } }())
    try? store.close()
  }

  /// The kernel tells an error once: who waits for a sync of the log that fails must not be told of the next one's success.
  @Test func whoWaitsForASyncOfTheLogThatFailsIsRefused() throws {
    let store = try world.open("store")
    let wal = try #require(store.core.wal)
    let outcome = Guarded<StoreError?>(nil)
    let done = DispatchSemaphore(value: 0)
    disk.onSync.withLock { handler in
      handler = { [disk] path throws(SystemError) in
        guard path.hasPrefix("wal/") else { return }
        disk.onSync.withLock { $0 = nil }
        let appended = wal.appendedSequence
        Thread.detachNewThread {
          do throws(StoreError) {
            try store.put(noise(400, 2), for: "second", options: PutOptions(durability: .synced))
          } catch {
            outcome.withLock { $0 = error }
          }
          done.signal()
        }
        // It has stored its frame, and waits.
        while wal.appendedSequence == appended { usleep(100) }
        usleep(20_000)
        throw SystemError(code: 5, operation: "sync", path: path)
      }
    }
    #expect(throws: StoreError.self) {
      try store.put(noise(400, 1), for: "first", options: PutOptions(durability: .synced))
    }
    done.wait()
    #expect({ if case .writeFailed? = outcome.withLock({ $0 }) { true } else { false } }())
    try? store.close()
  }

  // MARK: Marks

  /// What was written to each file since its last sync began, by the lowest place.
  private final class Unsynced: Sendable {
    private let lowest = Guarded<[String: Int]>([:])
    func wrote(_ path: String, _ offset: Int) {
      lowest.withLock { $0[path] = min($0[path] ?? .max, offset) }
    }
    func syncs(_ path: String) { lowest.withLock { $0[path] = nil } }
    var segments: [String] { lowest.withLock { $0.keys.filter { $0.hasPrefix("segments/") } } }

    /// A mark that has passed something which no sync has taken along.
    func passed(_ store: CacheStore) -> String? {
      let segments = store.core.catalog.segments
      for case let segment? in store.core.locked({ segments.segments }) {
        let offset = lowest.withLock { $0["segments/\(segment.fileName)"] } ?? .max
        let mark = segments.vouchedUpTo(segment.slot)
        if mark > offset { return "\(segment.fileName) is vouched for up to \(mark), and unsynced from \(offset) on" }
      }
      return nil
    }
  }

  private func open(_ unsynced: Unsynced) throws -> CacheStore {
    let store = try world.open("store")
    disk.onWrite.withLock { $0 = { path, offset in unsynced.wrote(path, offset) } }
    disk.onSync.withLock { $0 = { path in unsynced.syncs(path) } }
    return store
  }

  /// A checkpoint comes when the next record is about to be written: where that begins, and up to where its segment is
  /// vouched for then.
  private func markOfACheckpointBeforeTheNextRecord(
    _ store: CacheStore
  ) -> Guarded<(offset: Int, vouched: Int)?> {
    let mark = Guarded<(offset: Int, vouched: Int)?>(nil)
    beforeTheNextRecord { path, offset in
      try? store.checkpoint()
      let segment = store.core.locked { store.core.catalog.segments.segments.compactMap { $0 } }
        .first { path.hasSuffix($0.fileName) }
      mark.withLock { $0 = segment.map { (offset, store.core.catalog.segments.vouchedUpTo($0.slot)) } }
    }
    return mark
  }

  @Test func noMarkPassesARecordThatIsBeingWritten() throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(700, 1), for: "before")
    let mark = markOfACheckpointBeforeTheNextRecord(store)
    try store.put(noise(3000, 2), for: "late")
    let found = try #require(mark.withLock { $0 })
    #expect(found.vouched == found.offset, "what is before it is vouched for, and it is not")
    try store.close()
  }

  /// Its payload is there long before its head.
  @Test func noMarkPassesABodyThatIsBeingCommitted() throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(700, 1), for: "before")
    let writer = try store.writer(for: "body", length: 100_000)
    try writer.write(noise(100_000, 2))
    let mark = markOfACheckpointBeforeTheNextRecord(store)
    try writer.commit()
    let found = try #require(mark.withLock { $0 })
    #expect(found.vouched <= found.offset)
    try store.close()
  }

  /// A record comes while `call` syncs the segments.
  private func comesWhileSyncing(_ call: (CacheStore) throws -> Void) throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(700, 1), for: "before")
    let isDue = Guarded(true)
    disk.onSync.withLock { handler in
      handler = { path in
        unsynced.syncs(path)
        guard path.hasPrefix("segments/"),
          isDue.withLock({ isDue in
            defer { isDue = false }
            return isDue
          })
        else {
          return
        }
        elsewhere { try? store.put(noise(900, 2), for: "meanwhile") }
      }
    }
    try call(store)
    #expect(isDue.withLock { !$0 } && store["meanwhile"] == noise(900, 2))
    #expect(unsynced.passed(store) == nil)
    try store.flush()
    #expect(unsynced.passed(store) == nil && unsynced.segments == [])
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  @Test func noMarkPassesARecordThatCameDuringTheSyncOfACheckpoint() throws {
    try comesWhileSyncing { try $0.checkpoint() }
  }

  @Test func noMarkPassesARecordThatCameDuringAFlush() throws {
    try comesWhileSyncing { try $0.flush() }
  }

  /// Who shares what lies below a mark waits for no sync of it.
  private func rises(_ call: (CacheStore) throws -> Void) throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(700, 1), for: "a")
    let passed = Guarded<[String]>([])
    disk.onSync.withLock { handler in
      handler = { path in
        // It has not happened yet.
        if path.hasPrefix("segments/"), let mark = unsynced.passed(store) { passed.withLock { $0.append(mark) } }
        unsynced.syncs(path)
      }
    }
    try call(store)
    #expect(passed.withLock { $0 } == [])
    let place = try #require(location(store, CacheKey("a")))
    #expect(store.core.catalog.segments.isVouched(place))
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  @Test func aMarkRisesBehindTheSyncOfACheckpoint() throws { try rises { try $0.checkpoint() } }
  @Test func aMarkRisesBehindTheSyncOfAFlush() throws { try rises { try $0.flush() } }

  /// It goes while it is synced.
  @Test func noMarkRisesForTheSegmentThatHasTheSlotByThen() throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    let core = store.core
    try store.put(noise(40_000, 1), for: "a")
    try store.put(noise(40_000, 2), for: "in the next segment")
    let slot = try #require(location(store, CacheKey("a"))).slot
    let old = try #require(core.catalog.segments.segment(slot))
    let isDue = Guarded(true)
    disk.onSync.withLock { handler in
      handler = { path in
        unsynced.syncs(path)
        guard path == "segments/\(old.fileName)",
          isDue.withLock({ isDue in
            defer { isDue = false }
            return isDue
          })
        else { return }
        elsewhere {
          _ = try? store.remove("a")
          core.upkeepLock.lock()
          try? core.retireDeadSegments()
          core.upkeepLock.unlock()
          for number: UInt64 in 3..<20 {
            try? store.put(noise(40_000, number), for: "c")
            if location(store, CacheKey("c"))?.slot == slot { return }
          }
        }
      }
    }
    try store.flush()
    #expect(location(store, CacheKey("c"))?.slot == slot && core.catalog.segments.segment(slot) !== old)
    #expect(unsynced.passed(store) == nil)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  /// What a crash had left in its segment is not looked for in the one that has the slot by then.
  @Test func noMarkPassesARecordOnItsWayInThePlaceOfALeftover() throws {
    let died = try world.open("store")
    try died.put(noise(40_000, 1), for: "a")
    let slot = try #require(location(died, CacheKey("a"))).slot
    died.abandon()
    let store = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2).open("store")
    let core = store.core
    #expect(core.unchecked.contains { $0.slot == slot })
    try store.remove("a")
    core.upkeepLock.lock()
    try core.retireDeadSegments()
    core.upkeepLock.unlock()
    var number: UInt64 = 2
    while core.locked({ !core.openSegments.contains { $0?.slot == slot } }) {
      try store.put(noise(30_000, number), for: "\(number)")
      number += 1
      try #require(number < 40)
    }
    let slow = try #require(
      core.locked {
        core.openSegments.compactMap { $0 }.first { $0.slot == slot }?
          .reserve(headByteCount: 128, payloadByteCount: 400, pageAligned: false)
      })
    try store.put(noise(9000, 1), for: "behind")
    try store.checkpoint()
    #expect(core.catalog.segments.vouchedUpTo(slot) <= slow.offset)
    core.locked {
      slow.segment.filled(slow, isCarried: false)
      slow.segment.pendingCount -= 1
    }
    try store.close()
  }

  // MARK: Room

  /// Their segments stay until upkeep comes, and each takes room in a checkpoint.
  @Test func bodiesThatAreAbortedAsTheirSegmentIsMadeLeaveRoomForACheckpoint() throws {
    let options = StoreOptions(byteBudget: 64 << 20, segmentByteCount: CacheFormat.smallestSegment)
    let store = try world.open("store", options)
    let core = store.core
    // Up to where one more segment needs a longer file.
    while core.catalog.checkpointByteCount(moreSegments: Catalog.spareSegments + 1) <= core.checkpointByteCount {
      try core.makeSpares(core.locked { core.spares.count } + 1)
    }
    for number in 0..<Catalog.spareSegments + 4 {
      let writer = try store.writer(for: "k")
      // More than is gathered in memory.
      try writer.write(noise(BodyWriter.gatheredByteCount + 1, UInt64(number)))
      disk.onSync.withLock { handler in
        handler = { [disk] path in
          guard path.hasPrefix("segments/") else { return }
          disk.onSync.withLock { $0 = nil }
          elsewhere { _ = try? store.removeAll() }
        }
      }
      #expect(storeError { try writer.commit() } == .aborted)
    }
    #expect(core.catalog.checkpointByteCount(moreSegments: 0) <= core.checkpointByteCount)
    try store.checkpoint()
    try store.close()
  }

  // MARK: Closing

  @Test func nobodyOpensAStoreBeforeItsLastCheckpointIsWritten() throws {
    let store = try world.open("store")
    try store.put(noise(700, 1), for: "a")
    let outcome = Guarded<StoreError?>(nil)
    disk.onWrite.withLock { handler in
      handler = { [disk, world] path, _ in
        guard path.hasPrefix("checkpoints/") else { return }
        disk.onWrite.withLock { $0 = nil }
        elsewhere { outcome.withLock { $0 = storeError { try world.open("store").abandon() } } }
      }
    }
    try store.close()
    #expect({ if case .locked? = outcome.withLock({ $0 }) { true } else { false } }())
  }

  /// Behind a close somebody else may have the files.
  @Test func aCloseWaitsForPutsThatFillTheirRoom() throws {
    let store = try world.open("store")
    let (isClosed, early) = (Guarded(false), Guarded(false))
    let done = DispatchSemaphore(value: 0)
    disk.onWrite.withLock { handler in
      handler = { [disk] path, offset in
        // What writes the header of a segment holds a lock for which a close waits too.
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        disk.onWrite.withLock { $0 = nil }
        Thread.detachNewThread {
          try? store.close()
          isClosed.withLock { $0 = true }
          done.signal()
        }
        // Time for the whole of it, did it not wait.
        for _ in 0..<300 where !isClosed.withLock({ $0 }) { usleep(1000) }
        early.withLock { $0 = isClosed.withLock { $0 } }
      }
    }
    #expect(storeError { try store.put(noise(700, 1), for: "a") } == .closed)
    done.wait()
    #expect(early.withLock { !$0 })
  }

  // MARK: Group commit

  /// Counts, and answers whether it was the first time.
  private static func isFirst(_ count: Guarded<Int>) -> Bool {
    count.withLock { count in
      count += 1
      return count == 1
    }
  }

  /// The kernel tells of a failed sync once. Who waited for that one, and tried again, would be told that all is well.
  @Test func whoWaitsForASyncThatFailsFailsWithIt() throws {
    let store = try world.open("store")
    let wal = try #require(store.core.wal)
    let syncs = Guarded(0)
    let outcome = Guarded<StoreError?>(nil)
    let done = DispatchSemaphore(value: 0)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path.hasPrefix("wal/"), Self.isFirst(syncs) else { return }
        let appended = wal.appendedSequence
        Thread.detachNewThread {
          let error = storeError {
            try store.put(noise(400, 2), for: "second", options: PutOptions(durability: .synced))
          }
          outcome.withLock { $0 = error }
          done.signal()
        }
        // The second put has stored its frame, and waits.
        while wal.appendedSequence == appended { usleep(100) }
        usleep(20_000)
        throw SystemError(code: 5, operation: "sync", path: path)
      }
    }
    let first = storeError { try store.put(noise(400, 1), for: "first", options: PutOptions(durability: .synced)) }
    #expect(done.wait(timeout: .now() + 20) == .success)
    for error in [first, outcome.withLock { $0 }] {
      #expect({ if case .writeFailed? = error { true } else { false } }(), "\(String(describing: error))")
    }
    #expect(syncs.withLock { $0 } == 1)
    disk.onSync.withLock { $0 = nil }
    try? store.close()
  }

  /// Who comes while a sync is under way waits for the next one: the one under way may have begun before its frame.
  @Test func aFrameIsDurableByASyncThatBeganBehindIt() throws {
    let store = try world.open("store")
    let wal = try #require(store.core.wal)
    let (syncs, early) = (Guarded(0), Guarded<[String]>([]))
    let second = Guarded<DispatchSemaphore?>(nil)
    disk.onSync.withLock { handler in
      handler = { path in
        guard path.hasPrefix("wal/"), Self.isFirst(syncs) else { return }
        // Nothing of this sync is durable yet, nor will what comes now be.
        let appended = wal.appendedSequence
        if wal.durableSequence >= appended { early.withLock { $0.append("durable before its sync") } }
        let done = DispatchSemaphore(value: 0)
        second.withLock { $0 = done }
        Thread.detachNewThread {
          try? store.put(noise(400, 2), for: "second", options: PutOptions(durability: .synced))
          if syncs.withLock({ $0 }) < 2 { early.withLock { $0.append("acknowledged by a sync from before") } }
          done.signal()
        }
        // The second put has stored its frame, and waits.
        while wal.appendedSequence == appended { usleep(100) }
        usleep(20_000)
        if done.wait(timeout: .now()) == .success {
          early.withLock { $0.append("acknowledged while the sync was under way") }
          done.signal()
        }
      }
    }
    try store.put(noise(400, 1), for: "first", options: PutOptions(durability: .synced))
    let done = try #require(second.withLock { $0 })
    #expect(done.wait(timeout: .now() + 20) == .success)
    #expect(early.withLock { $0 } == [] && syncs.withLock { $0 } >= 2)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }
}
