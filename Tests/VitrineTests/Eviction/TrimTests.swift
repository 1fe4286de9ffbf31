import Testing

@testable import Vitrine

/// Trims evict in the order of the policy down to a size that the caller names, and leave the budgets as they are.
@Suite struct TrimTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ budget: Int = 8 << 20, _ policy: EvictionPolicy? = nil) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: budget, policy: policy))
  }

  /// Entries of 7,000 bytes that do not compress.
  private func fill(_ store: CacheStore, _ numbers: Range<Int>) throws {
    for index in numbers { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
  }

  @Test(arguments: [5 << 20, 2 << 20, 1 << 20]) func leastRecentlyUsedEntriesGoUntilTheFolderIsSmall(_ size: Int) throws
  {
    let store = try open(8 << 20, .lru)
    try fill(store, 0..<900)
    #expect(store["u0"] == noise(7000, 0))
    let before = store.count
    let removed = try store.trim(toBytes: size)
    #expect(removed == before - store.count)
    #expect(store.statistics().bytesOnDisk <= size && store.byteBudget == 8 << 20)
    // A store without entries takes a third of a MiB, and a few segments of 64 KiB are not full.
    #expect(store.count * 7000 > (size - (512 << 10)) / 10 * 8)
    let left = (0..<900).filter { store.contains(CacheKey("u\($0)")) }
    #expect(left == [0] + Array(900 - (left.count - 1)..<900))
    #expect(try store.verify().isOK)
    #expect(try store.trim(toBytes: size) == 0)
    try store.close()
    let reopened = try open()
    #expect(reopened.count == left.count)
    try reopened.close()
  }

  /// Few dead bytes are allowed in relation to the size, not to the budget.
  @Test func sizeFarBelowTheBudgetKeepsItsEntries() throws {
    let store = try open(1 << 30)
    try fill(store, 0..<3000)
    try store.trim(toBytes: 10 << 20)
    #expect(store.statistics().bytesOnDisk <= 10 << 20 && store.count * 7000 > 8 << 20)
    try store.close()
  }

  @Test func smallestSizeRemovesAllEntries() throws {
    let store = try open()
    try fill(store, 0..<100)
    #expect(try store.trim(toBytes: 0) == 100)
    #expect(store.count == 0 && store.statistics().bytesOnDisk < 1 << 20)
    try store.put([1], for: "new")
    #expect(store["new"] == [1])
    try store.close()
  }

  @Test func borrowedBytesStayValid() throws {
    let store = try open()
    try fill(store, 0..<300)
    let blob = try #require(store.blob("u0"))
    try store.trim(toBytes: 0)
    #expect(store.count == 0)
    #expect(blob.withBytes { $0.withUnsafeBytes { Array($0) } } == noise(7000, 0))
    try store.close()
  }

  @Test func trimToEntriesLeavesTheLastUsed() throws {
    let store = try open()
    try fill(store, 0..<100)
    _ = store["u3"]
    #expect(try store.trim(toEntries: 100) == 0)
    #expect(try store.trim(toEntries: 10) == 90)
    #expect((0..<100).filter { store.contains(CacheKey("u\($0)")) } == [3] + Array(91..<100))
    #expect(store.entryBudget == 0)
    #expect(try store.trim(toEntries: 0) == 10)
    #expect(store.count == 0)
    try store.close()
  }

  @Test func expiredEntriesGoFirst() throws {
    let store = try open()
    try fill(store, 0..<10)
    let soon = PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 100)
    for index in 0..<20 { try store.put([1], for: "soon\(index)", options: soon) }
    world.clock.advance(1000)
    #expect(try store.trim(toEntries: 10) == 20)
    #expect(store.count == 10 && store["u0"] != nil)
    try store.close()
  }

  @Test func entriesUnusedSinceAMomentAreRemoved() throws {
    let store = try open()
    let start = world.clock.wallMilliseconds()
    try fill(store, 0..<50)
    #expect(try store.removeUnused(since: start) == 0)
    world.clock.advance(10_000)
    _ = store["u7"]
    let moment = world.clock.wallMilliseconds() - 5000
    #expect(try store.removeUnused(since: .min) == 0)
    #expect(try store.removeUnused(since: moment) == 49)
    #expect(store["u7"] == noise(7000, 7) && store.count == 1)
    #expect(try store.removeUnused(since: moment) == 0)
    #expect(try store.removeUnused(since: .max) == 1)
    try store.close()
  }

  @Test func usesAreRememberedAcrossOpenings() throws {
    var store = try open()
    try fill(store, 0..<50)
    world.clock.advance(100_000)
    try store.close()
    store = try open()
    _ = store["u7"]
    try fill(store, 50..<60)
    try store.close()
    store = try open()
    #expect(try store.removeUnused(since: world.clock.wallMilliseconds() - 50_000) == 49)
    #expect(store.count == 11 && store["u7"] != nil)
    try store.close()
  }

  /// The policy `fifo` notes no uses.
  @Test func onlyPutsCountUnderFifo() throws {
    let store = try open(8 << 20, .fifo)
    try fill(store, 0..<50)
    world.clock.advance(10_000)
    _ = store["u7"]
    try fill(store, 50..<60)
    #expect(try store.removeUnused(since: world.clock.wallMilliseconds() - 5000) == 50)
    #expect(store["u7"] == nil && store.count == 10)
    try store.close()
  }

  @Test func trimsAreRefusedWhereTheyCannotWork() throws {
    func isInvalid(_ body: () throws -> Int) -> Bool {
      guard case .invalidArgument? = storeError({ _ = try body() }) else { return false }
      return true
    }
    let store = try open()
    try fill(store, 0..<5)
    for value in [-1, Int.min] {
      #expect(isInvalid { try store.trim(toBytes: value) } && isInvalid { try store.trim(toEntries: value) })
    }
    #expect(try store.trim(toBytes: .max) == 0 && store.trim(toEntries: .max) == 0 && store.count == 5)
    try store.close()
    #expect(storeError { try store.trim(toBytes: 0) } == .closed)
    #expect(storeError { try store.trim(toEntries: 0) } == .closed)
    #expect(storeError { try store.removeUnused(since: .max) } == .closed)
    let reader = try world.openReadOnly("store")
    #expect(storeError { try reader.trim(toBytes: 0) } == .readOnly)
    #expect(storeError { try reader.trim(toEntries: 0) } == .readOnly)
    #expect(storeError { try reader.removeUnused(since: .max) } == .readOnly)
    #expect(reader.count == 5)
    try reader.close()
  }

  @Test func asynchronousFormsDoTheSame() async throws {
    let store = try open()
    try fill(store, 0..<50)
    #expect(try await store.asynchronous.trim(toEntries: 40) == 10)
    #expect(try await store.asynchronous.removeUnused(since: .min) == 0)
    #expect(try await store.asynchronous.trim(toBytes: 0) == 40)
    try store.close()
  }
}
