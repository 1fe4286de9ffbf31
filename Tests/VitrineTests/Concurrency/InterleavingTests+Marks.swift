import Testing

@testable import Vitrine

/// No mark passes an unsynced record (rule 4).
extension InterleavingTests {
  /// The lowest offset written to each file since its last sync began.
  private final class Unsynced: Sendable {
    private let lowest = Guarded<[String: Int]>([:])
    func wrote(_ path: String, _ offset: Int) {
      lowest.withLock { $0[path] = min($0[path] ?? .max, offset) }
    }
    func syncs(_ path: String) { lowest.withLock { $0[path] = nil } }
    var segments: [String] { lowest.withLock { $0.keys.filter { $0.hasPrefix("segments/") } } }

    /// A mark that has passed an unsynced write.
    func passed(_ store: CacheStore) -> String? {
      for case let segment? in store.probe.segments {
        let offset = lowest.withLock { $0["segments/\(segment.fileName)"] } ?? .max
        let mark = store.probe.mark(inSlot: segment.slot)
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

  /// Writes a checkpoint when the next record is about to be written; returns the record's offset, and the offset
  /// up to which its segment is vouched for then.
  private func markOfACheckpointBeforeTheNextRecord(
    _ store: CacheStore
  ) -> Guarded<(offset: Int, vouched: Int)?> {
    let mark = Guarded<(offset: Int, vouched: Int)?>(nil)
    beforeTheNextRecord { path, offset in
      try? store.checkpoint()
      let segment = store.probe.segments.compactMap { $0 }.first { path.hasSuffix($0.fileName) }
      mark.withLock { $0 = segment.map { (offset, store.probe.mark(inSlot: $0.slot)) } }
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
    #expect(found.vouched == found.offset, "the records before it are vouched for, and it is not")
    try store.close()
  }

  /// Its payload is written long before its head.
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

  /// Puts a record while `call` syncs the segments.
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

  /// A put that shares a payload below a mark waits for no sync of it.
  private func rises(_ call: (CacheStore) throws -> Void) throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(700, 1), for: "a")
    let passed = Guarded<[String]>([])
    disk.onSync.withLock { handler in
      handler = { path in
        // The sync has not happened yet.
        if path.hasPrefix("segments/"), let mark = unsynced.passed(store) { passed.withLock { $0.append(mark) } }
        unsynced.syncs(path)
      }
    }
    try call(store)
    #expect(passed.withLock { $0 } == [])
    let place = try #require(location(store, CacheKey("a")))
    #expect(store.probe.isVouched(place))
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  @Test func markRisesAfterTheSyncOfACheckpoint() throws { try rises { try $0.checkpoint() } }
  @Test func markRisesAfterTheSyncOfAFlush() throws { try rises { try $0.flush() } }

  /// The segment is removed while it is synced.
  @Test func markOfASegmentThatTookTheSlotDoesNotRise() throws {
    let unsynced = Unsynced()
    let store = try open(unsynced)
    try store.put(noise(40_000, 1), for: "a")
    try store.put(noise(40_000, 2), for: "in the next segment")
    let slot = try #require(location(store, CacheKey("a"))).slot
    let old = try #require(store.probe.segment(inSlot: slot))
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
          try? store.probe.retireDeadSegments()
          for number: UInt64 in 3..<20 {
            try? store.put(noise(40_000, number), for: "c")
            if location(store, CacheKey("c"))?.slot == slot { return }
          }
        }
      }
    }
    try store.flush()
    #expect(location(store, CacheKey("c"))?.slot == slot && store.probe.segment(inSlot: slot) !== old)
    #expect(unsynced.passed(store) == nil)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  /// Leftovers of a removed segment are not searched for in the segment that took its slot.
  @Test func noMarkPassesARecordBeingWrittenInPlaceOfALeftover() throws {
    let died = try world.open("store")
    try died.put(noise(40_000, 1), for: "a")
    let slot = try #require(location(died, CacheKey("a"))).slot
    died.abandon()
    let store = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2).open("store")
    #expect(store.probe.unchecked.contains { $0.slot == slot })
    try store.remove("a")
    try store.probe.retireDeadSegments()
    var number: UInt64 = 2
    while !store.probe.openSegments.contains(where: { $0.slot == slot }) {
      try store.put(noise(30_000, number), for: "\(number)")
      number += 1
      try #require(number < 40)
    }
    let slow = try #require(
      store.probe.reserve(headByteCount: 128, payloadByteCount: 400) { segment, _ in segment.slot == slot })
    try store.put(noise(9000, 1), for: "behind")
    try store.checkpoint()
    #expect(store.probe.mark(inSlot: slot) <= slow.offset)
    store.probe.abandon(slow)
    try store.close()
  }
}
