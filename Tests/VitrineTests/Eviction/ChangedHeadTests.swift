import Testing

@testable import Vitrine

/// Entries with changed metadata, and payloads that other keys use. A segment may hold such payloads alone, which no
/// policy can drop by their own keys.
@Suite struct ChangedHeadTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: policy))
  }

  private func put(_ store: CacheStore, _ name: String, _ numbers: Range<Int>, _ byteCount: Int) throws {
    for number in numbers { try store.put(noise(byteCount, UInt64(number)), for: "\(name)\(number)") }
  }

  /// Puts four times the budget. Without an end of the copies, this test does not end.
  private func expectPutsFindRoom(_ store: CacheStore, _ byteCount: Int) throws {
    let before = store.statistics()
    let count = (32 << 20) / byteCount
    for number in 0..<count { try store.put(noise(byteCount, UInt64(number) | 1 << 40), for: "new\(number)") }
    let after = store.statistics()
    #expect(after.bytesOnDisk <= store.byteBudget)
    // The old entries are copied a few times at most.
    #expect(after.compaction.bytesMoved - before.compaction.bytesMoved < 24 << 20)
    #expect(store.contains("new\(count - 1)"))
    let report = try store.verify()
    #expect(report.damaged == [] && report.lost == [])
  }

  @Test(arguments: EvictionPolicy.allCases, [(20_000, 1), (20_000, 10), (1500, 1)])
  func changedEntriesMakeRoom(_ policy: EvictionPolicy, _ load: (byteCount: Int, unchanged: Int)) throws {
    let store = try open(policy)
    try put(store, "k", 0..<(7 << 20) / load.byteCount, load.byteCount)
    for number in 0..<(7 << 20) / load.byteCount where load.unchanged == 1 || number % load.unchanged > 0 {
      _ = try store.setMetadata([1], for: CacheKey("k\(number)", .original))
    }
    try expectPutsFindRoom(store, load.byteCount)
    try store.close()
  }

  @Test(arguments: EvictionPolicy.allCases)
  func payloadsOfRemovedEntriesMakeRoom(_ policy: EvictionPolicy) throws {
    let store = try open(policy)
    try put(store, "k", 0..<350, 20_000)
    try put(store, "same", 0..<350, 20_000)
    for number in 0..<350 { try store.remove("k\(number)") }
    try expectPutsFindRoom(store, 20_000)
    try store.close()
  }
}
