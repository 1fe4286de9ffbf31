import Testing

@testable import Vitrine

@Suite struct RetainTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore
  let square = Style("square-60@2x")!

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    for site in ["x", "y"] {
      for number in 0..<10 {
        try store.put([1], for: "https://\(site)/\(number)")
        try store.put([2], for: "https://\(site)/\(number)", style: square)
      }
    }
  }

  @Test func retainKeepsNamedURLsInEveryStyle() throws {
    #expect(try store.retain(only: ["https://x/3", "https://y/4", "https://nowhere/"]) == 36)
    let expected = ["https://x/3", "https://y/4"].flatMap { [CacheKey($0), CacheKey($0, square)] }
    #expect(try store.keysInOrder() == expected)
    #expect(try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 3).open("store").keysInOrder() == expected)
  }

  @Test func retainAffectsOnlyURLsWithThePrefix() throws {
    let keys = [CacheKey("https://x/3", square)]
    #expect(try store.retain(only: keys, prefix: "https://x/", durability: .synced) == 18)
    #expect(store.count == 22 && store.contains("https://x/3") && store.contains("https://y/9"))
    #expect(try store.retain(only: [String](), prefix: "https://y/9") == 2)
    #expect(try store.retain(only: [CacheKey]()) == 20)
    #expect(store.count == 0)
  }

  @Test func aSequenceIsReadOnce() throws {
    var count = 0
    let urls = sequence(state: 0) { number -> String? in
      defer { number += 1 }
      count += 1
      return number < 10 ? "https://x/\(number)" : nil
    }
    #expect(try store.retain(only: urls) == 20)
    #expect(count == 11)
  }

  @Test func retainWorksAsynchronouslyAndNotOnAClosedStore() async throws {
    #expect(try await store.asynchronous.retain(only: ["https://x/1"], prefix: "https://x/") == 18)
    #expect(try await store.asynchronous.retain(only: [CacheKey("https://x/1")]) == 20)
    try store.close()
    #expect(storeError { try store.retain(only: ["a"]) } == .closed)
  }

  @Test func retainSplitsManyRemovalsIntoSeveralFrames() throws {
    var batch = WriteBatch()
    for number in 0..<3000 { batch.put([3], for: CacheKey("z\(number)")) }
    try store.write(batch)
    #expect(try store.retain(only: (0..<3000).filter { $0 % 3 == 0 }.map { "z\($0)" }) == 2040)
    #expect(store.count == 1000 && store["z2997"] == [3])
    #expect(try store.verify().isOK)
  }
}
