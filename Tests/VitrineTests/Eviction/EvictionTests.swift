import Foundation
import Testing

@testable import Vitrine

@Suite struct EvictionTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func expectIntact(_ store: CacheStore) throws {
    let report = try store.verify()
    #expect(report.damaged == [] && report.lost == [])
    #expect(store.statistics().bytesOnDisk <= store.byteBudget)
  }

  @Test(arguments: [EvictionPolicy.lru, .fifo], [1, 2])
  func leastRecentlyUsedEntryIsEvictedFirst(_ policy: EvictionPolicy, _ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var order = UsageOrder(countsHits: policy == .lru)
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20, policy: policy))
    for round in 0..<1500 {
      let key = "u\(random.below(900))"
      if random.chance(33) {
        if store[key] != nil { order.hit(key) }
      } else {
        try store.put(noise(1000 + random.below(9000), UInt64(round)), for: key)
        order.put(key)
      }
      if round % 100 == 0 { world.background.run() }
      #expect(store.statistics().bytesOnDisk <= 2 << 20)
      if round % 10 == 0 { _ = order.expectOrder(store, "round \(round)") }
    }
    let left = order.expectOrder(store)
    #expect(left == store.count && left > 100)
    #expect(store.statistics().evictedCount > 200)
    try expectIntact(store)
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.count == left)
    // The order has survived: the next evictions are still the oldest.
    for round in 0..<200 {
      try again.put(noise(6000, UInt64(round) + 7000), for: "new\(round)")
      order.put("new\(round)")
    }
    _ = order.expectOrder(again)
    try expectIntact(again)
    try again.close()
  }

  @Test func anEntryBudgetIsKeptExactly() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, entryBudget: 20))
    var order = UsageOrder()
    var random = SeededRandom(seed: 3)
    for round in 0..<600 {
      let key = "u\(random.below(60))"
      if random.chance(33) {
        if store[key] != nil { order.hit(key) }
      } else {
        try store.put(noise(300, UInt64(round)), for: key)
        order.put(key)
      }
      #expect(store.count <= 20)
      _ = order.expectOrder(store, "round \(round)")
    }
    #expect(store.count == 20)
    var batch = WriteBatch()
    for index in 0..<15 { batch.put([UInt8(index)], for: CacheKey("batch\(index)")) }
    try store.write(batch)
    #expect(store.count == 20)
    for index in 15..<40 { batch.put([UInt8(index)], for: CacheKey("batch\(index)")) }
    #expect(storeError { try store.write(batch) } == .noSpace, "more than there may be at all")
    #expect(store.count == 20 && store["batch14"] == [14])
    try store.setBudgets(entryBudget: 5)
    #expect(store.count == 5)
    try store.setBudgets(entryBudget: 0)
    for index in 0..<50 { try store.put([UInt8(index)], for: "free\(index)") }
    #expect(store.count == 55)
    try store.close()
  }

  @Test func valueThatNeverFitsIsRefusedWithoutEviction() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    for index in 0..<20 { try store.put(noise(5000, UInt64(index)), for: "u\(index)") }
    let count = store.count
    guard case .tooLarge(let byteCount, let limit) = storeError({ try store.put(noise(900_000), for: "large") }) else {
      Issue.record("not refused")
      return
    }
    #expect(byteCount == 900_000 && limit < 900_000 && limit > 200_000)
    #expect(store.count == count)
    // A value of the reported limit fits.
    try store.put(noise(limit, 5), for: "largest")
    #expect(store["largest"] == noise(limit, 5))
    try expectIntact(store)
    try store.close()
  }

  @Test func largePicturesAndSmallOnesAreEvictedInOrderOfUse() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: .lru))
    var order = UsageOrder()
    var random = SeededRandom(seed: 9)
    for round in 0..<400 {
      let key = "u\(round)"
      let size = random.chance(20) ? 100_000 + random.below(1_500_000) : 500 + random.below(20_000)
      try store.put(noise(size, UInt64(round)), for: key)
      order.put(key)
      #expect(store.statistics().bytesOnDisk <= 8 << 20)
      _ = order.expectOrder(store, "round \(round)")
    }
    try expectIntact(store)
    let statistics = store.statistics()
    #expect(statistics.liveByteCount > 5 << 20)
    try store.close()
  }

  @Test func aSmallerBudgetHoldsWhenTheCallReturns() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: .lru))
    var order = UsageOrder()
    for index in 0..<900 {
      try store.put(noise(7000, UInt64(index)), for: "u\(index)")
      order.put("u\(index)")
    }
    try store.setBudgets(byteBudget: 4 << 20)
    #expect(store.byteBudget == 4 << 20)
    #expect(store.statistics().bytesOnDisk <= 4 << 20)
    #expect(order.expectOrder(store) > 300)
    try expectIntact(store)
    #expect(storeError { try store.setBudgets(byteBudget: 1000) } != nil)
    #expect(storeError { try store.setBudgets(entryBudget: -1) } != nil)
    try store.setBudgets(byteBudget: 16 << 20)
    for index in 0..<900 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
    #expect(store.count == 900)
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.byteBudget == 16 << 20)
    try again.close()
  }

  @Test func aBudgetMadeSmallerByAnOpeningHoldsAfterOneRoundOfUpkeep() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    for index in 0..<900 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
    try store.close()
    let smaller = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    world.background.run()
    #expect(smaller.statistics().bytesOnDisk <= 3 << 20)
    #expect(smaller["u899"] != nil && smaller["u0"] == nil)
    try smaller.put(noise(7000), for: "more")
    try expectIntact(smaller)
    try smaller.close()
  }

  @Test func enumerationAndVerifyDoNotCountAsUse() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    for index in 0..<30 { try store.put([UInt8(index)], for: "u\(index)") }
    _ = store["u3"]
    let expected = ["u3"] + (0..<30).reversed().filter { $0 != 3 }.map { "u\($0)" }
    #expect(try store.keysByRecency().map(\.urlText) == expected)
    store.forEachEntry { _ in true }
    _ = try store.verify()
    _ = try store.keysInOrder()
    _ = store.lookup("u0")
    _ = store.contains("u1")
    #expect(try store.keysByRecency().map(\.urlText) == expected)
    store.getMany([CacheKey("u7")]) { _, _ in }
    #expect(try store.keysByRecency().first == CacheKey("u7"))
    try store.close()
  }

  @Test func crashForgetsAtMostOneMinuteOfHits() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    for index in 0..<10 { try store.put([UInt8(index)], for: "u\(index)") }
    try store.flush()
    _ = store["u2"]
    for _ in 0..<58 {
      world.clock.advance(1000)
      world.background.run()
    }
    _ = store["u5"]
    let image = disk.image
    let later = TestWorld(fileSystem: MemoryDisk(image))
    let again = try later.open("store", StoreOptions())
    #expect(try again.keysByRecency().prefix(2) == [CacheKey("u2"), CacheKey("u9")])
    try store.close()
    #expect(try world.open("store", StoreOptions()).keysByRecency().first == CacheKey("u5"))
  }

  @Test func sharedBytesStayForTheRemainingKeys() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20, entryBudget: 3))
    let bytes = noise(20_000)
    for name in ["a", "b", "c"] { try store.put(bytes, for: name) }
    try store.put([1], for: "d")
    try store.put([2], for: "e")
    #expect(store["a"] == nil && store["b"] == nil && store["c"] == bytes)
    _ = try store.compact()
    #expect(store["c"] == bytes)
    try expectIntact(store)
    try store.close()
  }

  /// A sync takes time and blocks no other call. When it ends, its segment may have been removed, and another segment
  /// may have its slot.
  @Test func segmentRemovedDuringItsSyncVouchesForNoRecord() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    func single() -> Segment? {
      store.probe.segments.compactMap { $0 }.first {
        let account = store.probe.account($0)
        return account.stream == .single && account.state != .retired
      }
    }
    try store.put(noise(200_000, 1), for: "first")
    let first = try #require(single())
    disk.onSync.withLock { [disk] onSync in
      onSync = { path in
        guard path.hasSuffix(first.fileName) else { return }
        disk.onSync.withLock { $0 = nil }
        // By another thread: this one holds locks that come after the upkeep lock.
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          do {
            try store.remove("first")
            try store.probe.retireDeadSegments()
            try store.put(noise(100_000, 2), for: "second")
          } catch {
            Issue.record("\(error)")
          }
          isDone.signal()
        }
        isDone.wait()
      }
    }
    try store.flush()
    let second = try #require(single())
    #expect(second !== first && second.slot == first.slot)
    #expect(store.probe.mark(inSlot: second.slot) == 0)
    try store.checkpoint()
    store.abandon()
    let again = try world.open("store")
    #expect(again.statistics().lastOpen.kind == .recovered && again["second"] == noise(100_000, 2))
    try expectIntact(again)
    try again.close()
  }
}
