import Testing

@testable import Vitrine

/// A smaller budget holds when an opening, a compaction or a close returns.
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

  @Test func openingWithSmallerByteBudgetShrinksBeforeItReturns() throws {
    try makeFull()
    let store = try world.open("store", StoreOptions(byteBudget: 3 << 20))
    try expectInside(store, 3 << 20)
    #expect(store["u899"] != nil && store["u0"] == nil && store.count > 200)
    for index in 0..<40 {
      try store.put(noise(200, UInt64(index)), for: "small\(index)")
      #expect(store.statistics().bytesOnDisk <= 3 << 20)
    }
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.byteBudget == 3 << 20 && again["small39"] != nil)
    try expectInside(again, 3 << 20)
    try again.close()
  }

  @Test func openingWithSmallerEntryBudgetEvictsBeforeItReturns() throws {
    try makeFull()
    let store = try world.open("store", StoreOptions(entryBudget: 50))
    #expect(store.count == 50 && store["u899"] != nil && store["u849"] == nil)
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

  @Test func openingFinishesTheShrinkingThatADeathHasCut() throws {
    try makeFull()
    let store = try world.open("store", StoreOptions())
    // The new budget is durable, and nothing has shrunk yet.
    var smaller = store.core.current
    smaller.byteBudget = 3 << 20
    smaller.generation += 1
    try store.core.write(smaller)
    store.abandon()
    let again = try world.open("store", StoreOptions())
    #expect(again.byteBudget == 3 << 20)
    try expectInside(again, 3 << 20)
    try again.close()
  }

  @Test(arguments: [false, true]) func compactAndCloseKeepASmallerBudget(_ compacts: Bool) throws {
    try makeFull()
    let store = try world.open("store", StoreOptions())
    // A folder above its budget for any reason.
    store.core.locked {
      store.core.current.byteBudget = 3 << 20
      store.core.ledger.budget = 3 << 20
    }
    if compacts {
      let report = try store.compact()
      #expect(report.bytesAfter <= 3 << 20)
    } else {
      try store.close()
    }
    #expect(store.statistics().bytesOnDisk <= 3 << 20)
    if compacts { try store.close() }
  }

  @Test func shortSessionsKeepTheEntryBudget() throws {
    for session in 0..<30 {
      let store = try world.open("store", StoreOptions(byteBudget: 4 << 20, entryBudget: session < 15 ? 40 : 10))
      #expect(store.core.catalog.keyCount <= (session < 15 ? 40 : 10), "session \(session)")
      for number in 0..<5 { try store.put(noise(900, UInt64(session * 5 + number)), for: "u\(session)-\(number)") }
      #expect(store.core.catalog.keyCount <= (session < 15 ? 40 : 10), "session \(session)")
      try store.close()
    }
  }
}
