import Foundation
import Testing

@testable import Vitrine

/// Actions of another thread between two steps of a change, placed exactly there: while the disk is at work.
@Suite struct InterleavingTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// Runs `body` on a separate thread, and waits for it.
  func elsewhere(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      body()
      done.signal()
    }
    done.wait()
  }

  /// Runs `body` once, on another thread, when the next record is about to be written to a segment.
  func beforeTheNextRecord(_ body: @escaping @Sendable (_ path: String, _ offset: Int) -> Void) {
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
        // The handler keeps a reference to the disk.
        disk.onWrite.withLock { $0 = nil }
        elsewhere { body(path, offset) }
      }
    }
  }

  func location(_ store: CacheStore, _ key: CacheKey) -> Location? { store.probe.location(of: key) }

  // MARK: Sharing

  @Test func bytesStoredByAConcurrentPutAreShared() throws {
    let store = try world.open("store")
    let bytes = noise(3000)
    beforeTheNextRecord { _, _ in try? store.put(bytes, for: "a") }
    try store.put(bytes, for: "b")
    #expect(store["a"] == bytes && store["b"] == bytes && store.statistics().blobCount == 1)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func bytesRemovedByAConcurrentCallAreStoredAgain() throws {
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

  /// The place of the payload to share belongs to another record by then, with the same bytes.
  @Test func placeReusedMeanwhileIsNotShared() throws {
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
    #expect(hasPlace.withLock { $0 }, "the place was not reused")
    #expect(store["b"] == bytes && store["e"] == bytes)
    #expect(try store.verify().isOK)
    try store.close()
  }

  // MARK: Entries

  /// `isShared`: another key still has the replaced bytes.
  @Test(arguments: [false, true])
  func changeOfMetadataDoesNotRestoreAReplacedEntry(_ isShared: Bool) throws {
    let store = try world.open("store")
    try store.put(noise(3000, 1), for: "a")
    if isShared { try store.put(noise(3000, 1), for: "b") }
    beforeTheNextRecord { _, _ in try? store.put(noise(3000, 2), for: "a") }
    #expect(try store.setMetadata([7], for: CacheKey("a")))
    #expect(store["a"] == noise(3000, 2))
    if case .found(let info) = store.lookup("a") { #expect(info.metadata == [7]) }
    try store.close()
  }

  @Test func styleFollowsTheOriginalStoredAtItsCommit() throws {
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
    let key = CacheKey("a")
    let hash = store.probe.hash(of: key)
    let place = try #require(location(store, key))
    let sequence = try #require(store.probe.record(at: place)?.header.sequence)
    #expect(
      try store.probe.steps.tryToRemove([RecordName(hash: hash, location: place, sequence: sequence + 1)])
        == 0)
    #expect(store["a"] == noise(3000, 1))
    #expect(
      try store.probe.steps.tryToRemove([RecordName(hash: hash, location: place, sequence: sequence)])
        == 1)
    #expect(store["a"] == nil)
    try store.close()
  }

  // MARK: The log

  /// The log has rotated between the writing of a checkpoint and its publication: it begins in a filled file.
  @Test func theFileInWhichACheckpointBeginsStaysUntilTheNextOne() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
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
      let use = store.probe.log.position.use
      while store.probe.log.position.use == use { try put() }
    }
    for _ in 0..<3 { try put() }
    disk.onSync.withLock { handler in
      handler = { [disk] path in
        guard path.hasPrefix("checkpoints/") else { return }
        disk.onSync.withLock { $0 = nil }
        let use = store.probe.log.position.use
        elsewhere { while store.probe.log.position.use == use { guard (try? put()) != nil else { return } } }
      }
    }
    let begun = store.probe.log.position.use
    try store.checkpoint()
    #expect(store.probe.log.position.use == begun + 1)
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

  /// Rule 6. No mark passes a record that is being written. So no checkpoint vouches for the inline records behind it,
  /// also if several checkpoints cover them.
  @Test func logFileStaysUntilACheckpointVouchesForItsPayloads() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    try store.put(noise(500, 1), for: "before")
    try store.checkpoint()
    let slow = try #require(
      store.probe.reserve(headByteCount: 128, payloadByteCount: 400) { $1.live.count > 0 })
    try store.put(noise(700, 2), for: "carried", options: PutOptions(durability: .synced))
    let place = try #require(location(store, CacheKey("carried")))
    let use = store.probe.log.position.use
    let file = try #require(store.probe.log.file(use: use))
    var number: UInt64 = 0
    while store.probe.log.position.use == use {
      try store.put(noise(20, number), for: "\(number % 40)")
      number += 1
    }
    for _ in 0..<2 {
      try store.checkpoint()
      let entry = store.probe.log.entry(file)
      #expect(!store.probe.isVouched(place) && entry?.state == .filled && entry?.header?.use == use)
    }
    store.probe.abandon(slow)
    try store.checkpoint()
    #expect(store.probe.isVouched(place) && store.probe.log.entry(file)?.state == .free)
    try store.close()
  }

  /// An opening that has replayed the file, and writes a checkpoint before it has checked the leftovers, first
  /// makes the file's inline records durable in their places.
  @Test func replayedLogFileIsFreeOnceItsPayloadsAreRestored() throws {
    let store = try world.open("store")
    try store.put(noise(700, 1), for: "carried", options: PutOptions(durability: .synced))
    let use = store.probe.log.position.use
    store.abandon()
    let world = TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2)
    // Changed options take effect with a checkpoint.
    let again = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    let file = try #require(again.probe.log.file(use: use))
    let place = try #require(location(again, CacheKey("carried")))
    #expect(!again.probe.isVouched(place) && again.probe.log.entry(file)?.state == .free)
    try again.probe.steps.checkLeftovers()
    #expect(again.probe.isVouched(place) && again.probe.log.entry(file)?.state == .free)
    #expect(again["carried"] == noise(700, 1))
    try again.close()
  }

  // MARK: Space

  /// Their segments stay until upkeep runs, and each takes room in a checkpoint.
  @Test func bodiesAbortedDuringSegmentCreationLeaveRoomForACheckpoint() throws {
    let options = StoreOptions(byteBudget: 64 << 20, segmentByteCount: CacheFormat.smallestSegment)
    let store = try world.open("store", options)
    // Up to where one more segment needs a longer file.
    while store.probe.checkpointByteCount(moreSegments: CatalogWriter.spareSegments + 1)
      <= store.probe.checkpointRoom
    {
      try store.probe.steps.makeSpares(store.probe.spares.count + 1)
    }
    for number in 0..<CatalogWriter.spareSegments + 4 {
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
    #expect(store.probe.checkpointByteCount(moreSegments: 0) <= store.probe.checkpointRoom)
    try store.checkpoint()
    try store.close()
  }

  // MARK: Closing

  @Test func storeOpensOnlyAfterTheLastCheckpointIsWritten() throws {
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

  /// After a close another opening may have the files.
  @Test func closeWaitsForPutsThatFillTheirReservations() throws {
    let store = try world.open("store")
    let (isClosed, early) = (Guarded(false), Guarded(false))
    let done = DispatchSemaphore(value: 0)
    disk.onWrite.withLock { handler in
      handler = { [disk] path, offset in
        // The write of a segment's header holds a lock for which a close waits too.
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        disk.onWrite.withLock { $0 = nil }
        Thread.detachNewThread {
          try? store.close()
          isClosed.withLock { $0 = true }
          done.signal()
        }
        // Enough time for the whole close, if it did not wait.
        for _ in 0..<300 where !isClosed.withLock({ $0 }) { usleep(1000) }
        early.withLock { $0 = isClosed.withLock { $0 } }
      }
    }
    try store.put(noise(700, 1), for: "a")
    done.wait()
    #expect(early.withLock { !$0 })
    let again = try world.open("store")
    #expect(again["a"] == noise(700, 1))
    try again.close()
  }
}
