import Testing

@testable import Vitrine

/// Entries of a URL that had none when the put of it began.
@Suite struct InterleavedKeyTests {
  private let threads = InterleavingTests()

  @Test func keyPutMeanwhileIsReplaced() throws {
    let store = try threads.world.open("store")
    threads.beforeTheNextRecord { _, _ in try? store.put(noise(2000), for: "a") }
    try store.put(noise(3000), for: "a")
    #expect(store["a"] == noise(3000) && store.count == 1 && store.statistics().blobCount == 1)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func keyPinnedMeanwhileStaysPinned() throws {
    let store = try threads.world.open("store")
    threads.beforeTheNextRecord { _, _ in try? store.put(noise(2000), for: "a", options: PutOptions(isPinned: true)) }
    try store.put(noise(3000), for: "a")
    guard case .found(let info) = store.lookup("a") else {
      Issue.record("it is not there")
      return
    }
    #expect(info.isPinned && store["a"] == noise(3000))
    try store.close()
  }

  @Test func styleOfAnOlderOriginalPutMeanwhileIsOutdated() throws {
    let store = try threads.world.open("store")
    let made = CacheKey("a", Style("square")!)
    threads.beforeTheNextRecord { _, _ in
      try? store.put(noise(2000), for: "a")
      try? store.put(noise(500), for: made)
    }
    try store.put(noise(3000), for: "a")
    #expect(store["a"] == noise(3000) && store.lookup(made) == .missing && store.count == 1)
    #expect(try store.verify().isOK)
    try store.close()
  }
}
