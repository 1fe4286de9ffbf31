import Testing

@testable import Vitrine

/// A smaller budget holds when the opening that set it, a compaction or a close returns.
@Suite struct SmallerBudgetTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// 900 entries of 7,000 bytes.
  private func fill(_ store: CacheStore) throws {
    for index in 0..<900 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
  }

  private func makeFull() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    try fill(store)
    try store.close()
  }

  private func expectInside(_ store: CacheStore, _ budget: Int) throws {
    #expect(store.statistics().bytesOnDisk <= budget)
    #expect(try store.verify().isOK)
  }

  @Test func openingWithSmallerBudgetsShrinksBeforeItReturns() throws {
    try makeFull()
    var store = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    try expectInside(store, 3 << 20)
    #expect(store["u899"] != nil && store["u0"] == nil && store.count > 200)
    store.abandon()
    store = try world.open("store", StoreOptions(entryBudget: 50))
    #expect(store.count == 50 && store["u899"] != nil)
    try store.close()
  }

  /// The segments of a large budget are longer than a small budget has room for.
  @Test func muchSmallerBudgetKeepsTheEntriesForWhichItHasRoom() throws {
    var store = try world.open("store", StoreOptions(byteBudget: 1 << 30))
    for index in 0..<3000 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
    try store.setBudgets(byteBudget: 10 << 20)
    try expectInside(store, 10 << 20)
    #expect(store.count * 7000 > 7 << 20 && store["u2999"] != nil && store["u0"] == nil)
    try store.setBudgets(byteBudget: 1 << 30)
    for index in 0..<3000 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
    try store.close()
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20))
    try expectInside(store, 16 << 20)
    #expect(store.count * 7000 > 12 << 20 && store["u2999"] != nil && store["u0"] == nil)
    try store.close()
  }

  @Test func openingAfterADeathWithSmallerBudgetShrinksBeforeItReturns() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    try fill(store)
    store.abandon()
    let smaller = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    try expectInside(smaller, 3 << 20)
    #expect(smaller["u899"] != nil && smaller.count > 200)
    try smaller.close()
  }

  @Test func shortSessionWithSmallerBudgetsLeavesTheFolderInside() throws {
    try makeFull()
    try world.open("store", StoreOptions(byteBudget: 3 << 20)).close()
    var store = try world.open("store", StoreOptions())
    #expect(store.byteBudget == 3 << 20)
    try expectInside(store, 3 << 20)
    #expect(store["u899"] != nil && store["u0"] == nil && store.count > 200)
    for index in 0..<40 {
      try store.put(noise(200, UInt64(index)), for: "small\(index)")
      #expect(store.statistics().bytesOnDisk <= 3 << 20)
    }
    try store.close()
    try world.open("store", StoreOptions(entryBudget: 50)).close()
    store = try world.open("store", StoreOptions())
    #expect(store.count == 50 && store["small39"] != nil)
    try store.close()
  }

  @Test(arguments: [false, true]) func compactAndCloseKeepASmallerBudget(_ compacts: Bool) throws {
    try makeFull()
    let store = try world.open("store", StoreOptions())
    // A folder above its budget for any reason.
    store.probe.setBudget(3 << 20)
    if compacts {
      let report = try store.compact()
      #expect(report.bytesAfter <= 3 << 20)
    } else {
      try store.close()
    }
    #expect(store.statistics().bytesOnDisk <= 3 << 20)
    if compacts { try store.close() }
  }
}
