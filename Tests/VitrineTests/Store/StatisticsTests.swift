import Testing

@testable import Vitrine

@Suite struct StatisticsTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// Puts more than fits, and compacts segments.
  private func churn(_ store: CacheStore, _ name: String) throws {
    for index in 0..<400 {
      try store.put(noise(3000 + index * 13, UInt64(index)), for: "\(name)\(index)")
      if index % 40 == 0 { world.clock.advance(3000) }
    }
    for index in stride(from: 200, to: 400, by: 2) { try store.remove("\(name)\(index)") }
    _ = try store.compact()
  }

  private func done(_ statistics: StoreStatistics) -> [Int] {
    let compaction = statistics.compaction
    return [statistics.evictedCount, statistics.evictedByteCount] + statistics.evictedByAge
      + [compaction.stepCount, compaction.recordsMoved, compaction.bytesMoved, compaction.segmentsFreed]
  }

  @Test func writersCountsReachReadersAndLaterOpenings() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    let reader = try world.openReadOnly("store")
    try churn(store, "a")
    _ = store["a399"]
    let before = store.statistics()
    #expect(before.evictedCount > 50 && before.evictedByAge.reduce(0, +) == before.evictedCount)
    #expect(before.evictedByteCount > before.evictedCount * 3000)
    #expect(before.compaction.recordsMoved > 20 && before.compaction.segmentsFreed > 2)
    #expect(before.writeAmplification > 1 && before.hitCount == 1)
    #expect(before.lastOpenForWriting?.kind == .created)
    world.background.run()
    // Opened before the changes, and not refreshed: later counts are not part of the snapshot.
    for reader in [reader, try world.openReadOnly("store")] {
      #expect(done(reader.statistics()) == done(store.statistics()))
      #expect(reader.statistics().hitCount == 1)
      #expect(abs(reader.statistics().writeAmplification - store.statistics().writeAmplification) < 0.1)
      #expect(reader.statistics().lastOpenForWriting?.kind == .created)
    }
    let published = done(store.statistics())
    store.abandon()
    let again = try world.open("store", StoreOptions())
    #expect(done(again.statistics()) == published)
    #expect(again.statistics().lastOpenForWriting?.kind == .recovered)
    try churn(again, "b")
    #expect(zip(done(again.statistics()), published).allSatisfy { $0 >= $1 })
    #expect(again.statistics().evictedCount > before.evictedCount)
    try again.close()
    let closed = try world.openReadOnly("store")
    #expect(done(closed.statistics()) == done(again.statistics()))
    #expect(closed.statistics().lastOpen.kind == .clean)
    #expect(closed.statistics().lastOpenForWriting?.kind == .recovered)
  }

  @Test func damagedCountersReadAsZero() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    try churn(store, "a")
    try store.close()
    var image = disk.image
    image["COUNTERS"]?[100] ^= 1
    let reader = try TestWorld(fileSystem: MemoryDisk(image)).openReadOnly("store")
    #expect(done(reader.statistics()).allSatisfy { $0 == 0 })
    #expect(reader.statistics().lastOpenForWriting == nil && reader.count == store.count)
  }

  @Test func unchangedCountersAreNotWrittenAgain() throws {
    let store = try world.open("store")
    world.background.run()
    var file = try #require(disk.image["COUNTERS"])
    #expect(Counters(file) == store.probe.publishedCounters)
    // The next write of the file corrects this byte.
    let handle = try disk.openDirectory("", create: false).openFile("COUNTERS", .readWrite)
    file[300] = 9
    try handle.write(file, at: 0)
    world.background.run()
    #expect(disk.image["COUNTERS"]?[300] == 9)
    _ = store["none"]
    world.background.run()
    #expect(disk.image["COUNTERS"]?[300] == 0)
    try store.close()
  }

  @Test func reportedLastUseIsNeverTooEarly() throws {
    let store = try world.open("store")
    func now() -> Int64 { world.clock.wallMilliseconds() }
    let put = now()
    for name in ["a", "b", "c", "d"] { try store.put(noise(100, UInt64(name.utf8.first!)), for: name) }
    for _ in 0..<600 {
      world.clock.advance(1000)
      world.background.run()
    }
    let use = now()
    _ = store["a"]
    try store.setMetadata([1], for: CacheKey("d"))
    world.background.run()
    world.clock.advance(3_600_000)
    world.background.run()

    func expectTimes(_ store: CacheStore) {
      var times: [String: Int64] = [:]
      store.forEachEntry { entry in
        times[entry.key.urlText] = entry.lastUsedMilliseconds
        guard case .found(let same) = store.lookup(entry.key) else { return false }
        #expect(same.lastUsedMilliseconds == entry.lastUsedMilliseconds)
        return true
      }
      for (name, moment) in [("a", use), ("b", put), ("c", put), ("d", use)] {
        #expect((moment...moment + 2000).contains(times[name] ?? 0), "\(name): \(times[name] ?? 0) - \(moment)")
      }
    }
    expectTimes(store)
    try store.checkpoint()
    expectTimes(try world.openReadOnly("store"))
    let digest = noise(100, UInt64("b".utf8.first!)).withUnsafeBytes { Digest(of: $0) }
    #expect(try store.entries(digest: digest).first?.lastUsedMilliseconds ?? 0 < put + 2000)
    #expect(try store.removeAll { ($0.lastUsedMilliseconds ?? .max) < use } == 2)
    #expect(store["a"] != nil && store["b"] == nil && store["c"] == nil && store["d"] != nil)
    try store.close()
  }

  @Test func fifoNotesNoUse() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20, policy: .fifo))
    try store.put([1], for: "a")
    guard case .found(let entry) = store.lookup("a") else {
      Issue.record("not there")
      return
    }
    #expect(entry.lastUsedMilliseconds == nil && store.statistics().policy == .fifo)
    try store.close()
    #expect(try world.openReadOnly("store").statistics().policy == .fifo)
  }

  @Test func recordCountsOnceForKeyAndPayload() throws {
    let store = try world.open("store")
    func expectContents(entries: Int, records: Int) throws {
      let contents = store.segmentContents()
      #expect(contents.values.reduce(0) { $0 + $1.entryCount } == entries)
      #expect(contents.values.reduce(0) { $0 + $1.recordCount } == records)
      #expect(try store.verify().recordCount == records)
      #expect(Set(contents.keys) == Set(store.statistics().segments.map(\.file)))
    }
    try store.put(noise(5000), for: "a")
    try expectContents(entries: 1, records: 1)
    try store.put([], for: "empty")
    try store.put(noise(5000), for: "b")
    try store.put(noise(5000), for: "c")
    try expectContents(entries: 4, records: 4)
    // Its payload stays for the other keys.
    try store.remove("a")
    try expectContents(entries: 3, records: 4)
    // A new key record, with the payload in the old one.
    try store.setMetadata([1, 2], for: CacheKey("empty"))
    try expectContents(entries: 3, records: 5)
    try store.removeMany([CacheKey("b"), CacheKey("c")])
    try expectContents(entries: 1, records: 2)
    try store.put(noise(900_000), for: "large")
    try expectContents(entries: 2, records: 3)
    try store.close()
  }
}
