import Testing

@testable import Vitrine

@Suite struct FullStoreTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// Puts until there is no room; answers what is in.
  private func fill(_ store: CacheStore) throws -> [Int] {
    for index in 0..<10_000 {
      do {
        try store.put(noise(7000, UInt64(index + 1)), for: "u\(index)")
      } catch StoreError.noSpace {
        return Array(0..<index)
      }
    }
    throw StoreError.invalidArgument("the budget holds nobody back")
  }

  private func expectAll(_ indices: [Int], _ store: CacheStore) throws {
    for index in indices { #expect(store["u\(index)"] == noise(7000, UInt64(index + 1))) }
    #expect(store.count == indices.count)
    #expect(try store.verify().isOK)
    #expect(store.statistics().bytesOnDisk <= store.byteBudget)
  }

  @Test func aFullStoreRefusesAndKeepsWhatItHas() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    let kept = try fill(store)
    #expect(kept.count > 100)
    #expect(storeError { try store.put(noise(7000, 9999), for: "u0") } == .noSpace)
    #expect(storeError { try store.put(noise(7000, 9999), for: "more") } == .noSpace)
    try expectAll(kept, store)
    try store.close()
    let again = try world.open("store", StoreOptions())
    try expectAll(kept, again)
    try again.close()
  }

  @Test func aFullStoreRemovesAndTakesNewEntriesThen() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    let kept = try fill(store)
    for index in kept.prefix(kept.count / 2) { #expect(try store.remove("u\(index)")) }
    try expectAll(Array(kept.dropFirst(kept.count / 2)), store)
    world.background.run()
    world.background.run()
    for index in kept.prefix(kept.count / 4) {
      try store.put(noise(7000, UInt64(index + 1)), for: "u\(index)")
    }
    try expectAll(Array(kept.prefix(kept.count / 4) + kept.dropFirst(kept.count / 2)), store)
    try store.removeAll()
    world.background.run()
    #expect(store.count == 0 && store.statistics().liveByteCount == 0)
    #expect(try fill(store).count >= kept.count - 20, "all of the space came back")
    try store.close()
  }

  @Test func theEntryBudgetAdmitsOverwritingButNothingNew() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20, entryBudget: 5))
    for index in 0..<5 { try store.put([UInt8(index)], for: "u\(index)") }
    #expect(storeError { try store.put([9], for: "new") } == .noSpace)
    try store.put([9], for: "u3")
    #expect(try store.setMetadata([1], for: CacheKey("u4")))
    var batch = WriteBatch()
    batch.put([8], for: CacheKey("u1"))
    batch.put([8], for: CacheKey("new"))
    #expect(storeError { try store.write(batch) } == .noSpace)
    #expect(store["u1"] == [1] && store["u3"] == [9] && store["new"] == nil && store.count == 5)
    #expect(try store.remove("u0"))
    try store.put([7], for: "new")
    #expect(store["new"] == [7])
    try store.close()
  }

  @Test func aSmallerBudgetKeepsWhatIsThereAndAdmitsNothingMore() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    for index in 0..<300 { try store.put(noise(7000, UInt64(index + 1)), for: "u\(index)") }
    try store.close()
    let smaller = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    #expect(storeError { _ = try fill(smaller) } == nil)
    for index in 0..<300 { #expect(smaller["u\(index)"] == noise(7000, UInt64(index + 1))) }
    try smaller.removeAll()
    world.background.run()
    #expect(smaller.statistics().bytesOnDisk <= 1 << 20)
    try smaller.close()
  }
}
