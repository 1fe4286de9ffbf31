import Testing

@testable import Vitrine

/// No mark passes what no sync has taken along (rule 4).
extension InterleavingTests {
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
}
