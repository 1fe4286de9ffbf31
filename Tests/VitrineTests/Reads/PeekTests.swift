import Testing

@testable import Vitrine

@Suite struct PeekTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func peeked(_ store: CacheStore, _ key: CacheKey) -> [UInt8]? {
    store.peek(key) { span in span.withUnsafeBytes { Array($0) } }
  }

  @Test func peekReturnsTheBytes() throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: "a")
    try store.put(text(5000), for: "b")
    try store.put(noise(3000), for: "c")
    #expect(peeked(store, "a") == noise(3000) && peeked(store, "b") == text(5000))
    #expect(peeked(store, "c") == noise(3000), "a shared payload")
    #expect(peeked(store, "d") == nil)
    #expect(store.peek("a") { $0.byteCount } == 3000)
    try store.close()
  }

  @Test func peekCountsNoHitAndNoMiss() throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: "a")
    for _ in 0..<5 { #expect(peeked(store, "a") != nil && peeked(store, "b") == nil) }
    let statistics = store.statistics()
    #expect(statistics.hitCount == 0 && statistics.missCount == 0)
    try store.close()
  }

  @Test func peekDoesNotExtendASlidingExpiration() throws {
    let store = try world.open("store")
    let options = PutOptions(slidingExpirationMilliseconds: 60_000)
    try store.put([1], for: "a", options: options)
    try store.put([2], for: "b", options: options)
    for _ in 0..<3 {
      world.clock.advance(30_000)
      _ = peeked(store, "a")
      _ = store["b"]
    }
    #expect(peeked(store, "a") == nil && store["b"] == [2])
    try store.close()
  }

  @Test func peekLeavesTheOrderOfEviction() throws {
    let store = try world.open(
      "store", StoreOptions(byteBudget: 8 << 20, entryBudget: 3, segmentByteCount: 64 << 10, policy: .lru))
    for name in ["a", "b", "c"] {
      try store.put([1], for: CacheKey(name))
      world.clock.advance(10)
    }
    for _ in 0..<3 { #expect(peeked(store, "a") == [1]) }
    try store.put([4], for: "d")
    #expect(!store.contains("a") && store.contains("b"))
    try store.close()
  }

  @Test func peekDropsNoEntryOfAnotherSource() throws {
    let store = try world.open("store")
    try store.put([1], for: CacheKey("a", Style("square")!), options: PutOptions(source: .named(Source([1])!)))
    let key = CacheKey("a", Style("square")!)
    #expect(store.peek(key, source: Source([2])!) { $0.byteCount } == nil)
    #expect(store.contains(key))
    try store.close()
  }

  @Test func peekOfAClosedStoreIsAMiss() throws {
    let store = try world.open("store")
    try store.put([1], for: "a")
    try store.close()
    #expect(peeked(store, "a") == nil)
  }
}
