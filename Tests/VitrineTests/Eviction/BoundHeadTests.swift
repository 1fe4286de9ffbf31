import Testing

@testable import Vitrine

/// Payloads that other keys use, with their dead heads, and records that must be kept. No request for room copies them
/// for nothing, and none drops entries beside them for nothing.
@Suite struct BoundHeadTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy = .s3fifo) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 8 << 20, segmentByteCount: 64 << 10, policy: policy))
  }

  private func put(_ store: CacheStore, _ name: String, _ numbers: Range<Int>, _ byteCount: Int) throws {
    for number in numbers { try store.put(noise(byteCount, UInt64(number)), for: "\(name)\(number)") }
  }

  /// Puts values of 20 KB, more than the budget, and returns the most bytes that one put has copied.
  private func mostCopied(_ store: CacheStore) throws -> Int {
    var most = 0
    for number in 0..<500 {
      let before = store.statistics().compaction.bytesMoved
      try store.put(noise(20_000, UInt64(number) | 1 << 40), for: "new\(number)")
      most = max(most, store.statistics().compaction.bytesMoved - before)
    }
    #expect(store.statistics().bytesOnDisk <= store.byteBudget)
    #expect(try store.verify().isOK)
    return most
  }

  /// Each head has a twelfth of its record or more. It died with its key, but a copy of the payload takes it along.
  @Test(arguments: [400, 1500, 2500], [EvictionPolicy.s3fifo, .lru, .fifo])
  func noPutCopiesSharedPayloadsForNothing(_ byteCount: Int, _ policy: EvictionPolicy) throws {
    let store = try open(policy)
    let count = (3 << 20) / byteCount
    try put(store, "k", 0..<count, byteCount)
    try put(store, "same", 0..<count, byteCount)
    for number in 0..<count { try store.remove("k\(number)") }
    #expect(try mostCopied(store) <= 1 << 20)
    try store.close()
  }

  /// Metadata of such a size get a segment of their own beside the payload, which stays in another one.
  @Test(arguments: [EvictionPolicy.s3fifo, .sieve, .lru, .fifo])
  func unusedEntriesWithLargeMetadataLeave(_ policy: EvictionPolicy) throws {
    let store = try open(policy)
    try put(store, "large", 0..<4, 200_000)
    for number in 0..<4 {
      try store.setMetadata(noise(65_400, UInt64(number)), for: CacheKey("large\(number)", .original))
    }
    // Used entries go to the main queue, which gives each entry its turn.
    for number in 0..<4000 {
      try store.put(noise(20_000, UInt64(number) | 1 << 40), for: "new\(number)")
      _ = store.get("new\(number)") { $0.byteCount }
      if !(0..<4).contains(where: { store.contains("large\($0)") }) { break }
    }
    for number in 0..<4 { #expect(!store.contains("large\(number)")) }
    try store.close()
  }

  /// After an opening, the store does not know these heads yet.
  @Test(arguments: [500, 1500], [EvictionPolicy.s3fifo, .lru, .fifo])
  func anOpenedStoreFindsTheHeadsBeforeItCopies(_ byteCount: Int, _ policy: EvictionPolicy) throws {
    var store = try open(policy)
    let count = (4 << 20) / (byteCount + 400)
    try put(store, "k", 0..<count, byteCount)
    for number in 0..<count { _ = try store.setMetadata([1], for: CacheKey("k\(number)", .original)) }
    _ = try mostCopied(store)
    try put(store, "k", 0..<count, byteCount)
    for number in 0..<count { _ = try store.setMetadata([1], for: CacheKey("k\(number)", .original)) }
    try store.close()
    store = try open(policy)
    #expect(try mostCopied(store) <= 1 << 20)
    try store.close()
  }

  /// Both keys of each payload stay alive, so a copy of it frees nothing.
  @Test(arguments: [EvictionPolicy.s3fifo, .sieve], [400, 3000])
  func noPutCopiesPayloadsOfTwoKeysForNothing(_ policy: EvictionPolicy, _ byteCount: Int) throws {
    let store = try open(policy)
    let count = (6 << 20) / (byteCount + 500)
    try put(store, "k", 0..<count, byteCount)
    try put(store, "same", 0..<count, byteCount)
    #expect(try mostCopied(store) <= 1 << 20)
    // A reference is dropped at its turn, and then the key with the payload at its own.
    #expect((0..<count).filter { store.contains(CacheKey("k\($0)", .original)) }.count < count / 2)
    try store.close()
  }

  /// A dead payload frees its dead head, too.
  @Test(arguments: [false, true]) func headsOfDeadPayloadsAreReclaimed(_ isOpenedAgain: Bool) throws {
    var store = try open(.lru)
    for number in 0..<2000 {
      try store.put(
        noise(64, UInt64(number)), for: CacheKey("k\(number)", .original),
        options: PutOptions(metadata: noise(1000, 1)))
    }
    for number in 0..<2000 { _ = try store.setMetadata(noise(1000, 2), for: CacheKey("k\(number)", .original)) }
    if isOpenedAgain {
      try store.close()
      store = try open(.lru)
    }
    _ = try store.compact()
    for number in 0..<2000 where number % 50 > 0 { try store.remove("k\(number)") }
    #expect(try store.idle())
    #expect(store.statistics().bytesOnDisk < 1 << 20, "\(store.statistics().bytesOnDisk)")
    #expect((0..<40).allSatisfy { store.contains(CacheKey("k\($0 * 50)", .original)) })
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// A full compaction of an opened store copies the segments that have other dead bytes, and no others.
  @Test func aFullCompactionCopiesNoSegmentOfSharedPayloads() throws {
    var store = try open()
    try put(store, "k", 0..<1000, 600)
    try put(store, "same", 0..<1000, 600)
    for number in 0..<1000 { try store.remove("k\(number)") }
    try put(store, "dead", 0..<100, 700)
    for number in 0..<100 { try store.remove("dead\(number)") }
    try store.close()
    store = try open()
    let report = try store.compact()
    #expect(report.isErased)
    let moved = store.statistics().compaction.bytesMoved
    #expect(moved < 300_000, "\(moved)")
    #expect((0..<1000).allSatisfy { store.contains(CacheKey("same\($0)", .original)) })
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// Entries in segments that stay are dropped at their turns, so they do not outlive newer entries.
  @Test func unusedEntriesOfSegmentsThatStayAreDropped() throws {
    let store = try open()
    let delay = 100
    for number in 0..<1500 {
      try store.put(noise(20_000, UInt64(number)), for: "a\(number)")
      if number < delay { continue }
      try store.put(noise(20_000, UInt64(number - delay)), for: "b\(number - delay)")
      try store.remove("a\(number - delay)")
    }
    let left = (0..<1400).filter { store.contains("b\($0)") }
    #expect(left.count > 50)
    #expect(left.filter { $0 < 700 }.count < left.count / 4, "\(left)")
    try store.close()
  }

  /// A value of many segments needs room for the copies of many pinned entries.
  @Test func aLargeValueDropsNoMoreThanItNeeds() throws {
    let store = try open()
    for number in 0..<1100 {
      var options = PutOptions()
      options.isPinned = number % 5 == 0 ? true : nil
      try store.put(noise(7000, UInt64(number)), for: "k\(number)", options: options)
    }
    let before = store.count
    try store.put(noise(3_000_000, 1 << 50), for: "large")
    #expect(store.contains("large"))
    #expect(store.count > before / 3)
    #expect((0..<1100).allSatisfy { $0 % 5 > 0 || store.contains("k\($0)") })
    try store.close()
  }
}
