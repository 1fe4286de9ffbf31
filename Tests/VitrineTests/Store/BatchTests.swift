import Testing

@testable import Vitrine

@Suite struct BatchTests {
  /// Runs a batch over two entries, and checks the store before and after the death of the process.
  private func expect(
    _ expected: [String: [UInt8]?], _ options: StoreOptions = StoreOptions(byteBudget: 4 << 20),
    after build: (inout WriteBatch) -> Void
  ) throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", options)
    try store.put(text(300, 1), for: "a")
    try store.put(text(300, 2), for: "b")
    var batch = WriteBatch()
    build(&batch)
    try store.write(batch)
    let dead = MemoryDisk(disk.image)
    let recovered = try TestWorld(fileSystem: dead, seed: 2).open("store")
    for store in [store, recovered] {
      for (url, value) in expected { #expect(store[url] == value, "\(url)") }
      #expect(store.count == expected.values.count { $0 != nil })
      #expect(try store.verify().isOK)
    }
    #expect(recovered.statistics().lastOpen.notes == [])
    try store.close()
    try recovered.close()
  }

  @Test func twoKeysMaySwapTheirValues() throws {
    try expect(["a": text(300, 2), "b": text(300, 1)]) { batch in
      batch.put(text(300, 2), for: CacheKey("a"))
      batch.put(text(300, 1), for: CacheKey("b"))
    }
  }

  @Test func valueMayMoveFromARemovedKey() throws {
    try expect(["a": nil, "b": text(300, 2), "c": text(300, 1)]) { batch in
      batch.remove(CacheKey("a"))
      batch.put(text(300, 1), for: CacheKey("c"))
    }
  }

  @Test func equalBytesOutliveTheirFirstKeyInTheSameBatch() throws {
    try expect(["a": text(300, 1), "b": text(300, 2), "c": nil, "d": text(300, 9)]) { batch in
      batch.put(text(300, 9), for: CacheKey("c"))
      batch.put(text(300, 9), for: CacheKey("d"))
      batch.remove(CacheKey("c"))
    }
  }

  @Test func lastOperationOfAKeyInABatchCounts() throws {
    try expect(["a": text(300, 7), "b": nil]) { batch in
      batch.put([1], for: CacheKey("a"))
      batch.remove(CacheKey("a"))
      batch.put(text(300, 7), for: CacheKey("a"))
      batch.put([2], for: CacheKey("b"))
      batch.remove(CacheKey("b"))
    }
  }

  @Test func anEmptyBatchChangesNothing() throws {
    try expect(["a": text(300, 1), "b": text(300, 2)]) { _ in }
  }

  @Test func aBatchThatDoesNotFitChangesNothing() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 1 << 20))
    try store.put([1], for: "a")
    var batch = WriteBatch()
    batch.remove(CacheKey("a"))
    for index in 0..<40 { batch.put(noise(50_000, UInt64(index + 1)), for: CacheKey("u\(index)")) }
    guard case .tooLarge(2_000_000, _) = storeError({ try store.write(batch) }) else {
      Issue.record("not refused")
      return
    }
    #expect(store.count == 1 && store["a"] == [1])
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func batchLargerThanTheLogSurvivesProcessDeath() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 4 << 20))
    var batch = WriteBatch()
    for index in 0..<2000 { batch.put(text(20, index), for: CacheKey("u\(index)")) }
    try store.write(batch, durability: .synced)
    let recovered = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2).open("store")
    #expect(recovered.count == 2000)
    for index in stride(from: 0, to: 2000, by: 37) { #expect(recovered["u\(index)"] == text(20, index)) }
    #expect(try store.removeMany((0..<2000).map { CacheKey("u\($0)") } + [CacheKey("u1")]) == 2000)
    #expect(store.count == 0)
    try store.close()
    try recovered.close()
  }

  @Test func removingAKeyTwiceCountsOnce() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put([1], for: "a")
    #expect(try store.removeMany([CacheKey("a"), CacheKey("a"), CacheKey("b")]) == 1)
    let recovered = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2).open("store")
    #expect(recovered.count == 0 && recovered.statistics().lastOpen.notes == [])
    try store.close()
    try recovered.close()
  }

  /// While a batch is placed, the payload that its first put shares is removed, and its segment's place is reused
  /// by the record of the second. The first must not take that record for its payload.
  @Test func sharedPayloadMayBeRemovedAndItsPlaceReusedDuringABatch() throws {
    // Each is larger than a segment, and so the first record of its own segment.
    let (held, other) = (noise(300_000, 1), noise(310_000, 2))
    let meanwhile = Guarded<(@Sendable () -> Void)?>(nil)
    var world = TestWorld(fileSystem: MemoryDisk())
    world.environment.digest = { bytes in
      if bytes.count == other.count { meanwhile.withLock { $0 }?() }
      return Digest(of: bytes)
    }
    let background = world.background
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, segmentByteCount: 256 << 10))
    try store.put(held, for: "held")
    meanwhile.withLock { body in
      body = {
        _ = try? store.remove("held")
        background.run()
      }
    }
    var batch = WriteBatch()
    batch.put(held, for: CacheKey("again"))
    batch.put(other, for: CacheKey("other"))
    try store.write(batch)
    #expect(store["again"] == held && store["other"] == other && store["held"] == nil)
    try store.put([1], for: "after")
    #expect(try store.verify().isOK)
    meanwhile.withLock { $0 = nil }
    try store.close()
  }
}
