import Testing

@testable import Vitrine

/// Random changes of a store with budgets of entries and of styles, beside a model that evicts by brute force.
@Suite struct EvictionModelTests {
  /// Evicts by exact order. Each call of a change makes one change at most.
  struct Model {
    struct Entry: Equatable {
      let byteCount: Int
      let style: Style
      var order: Int
      var isPinned = false
    }

    let budgets: [Style: StyleBudget]
    let entryBudget: Int
    let countsHits: Bool
    private(set) var entries: [CacheKey: Entry] = [:]
    /// The number of entries evicted for the budget of entries.
    private(set) var displacedCount = 0
    private var clock = 0

    init(_ budgets: [Style: StyleBudget], entryBudget: Int, countsHits: Bool) {
      self.budgets = budgets
      self.entryBudget = entryBudget
      self.countsHits = countsHits
    }

    /// Returns whether the value fits.
    mutating func put(_ key: CacheKey, _ byteCount: Int) -> Bool {
      let budget = budgets[key.style]
      if byteCount > budget?.byteCount ?? .max { return false }
      if let budget {
        func isWithin() -> Bool {
          let others = entries.filter { $0.key != key && $0.value.style == key.style }.values
          return others.count + 1 <= budget.count ?? .max
            && others.reduce(byteCount) { $0 + $1.byteCount } <= budget.byteCount ?? .max
        }
        while !isWithin() { if !evict(where: { $0.style == key.style }) { return false } }
      }
      while entries[key] == nil, entries.count + 1 > entryBudget {
        displacedCount += 1
        evict { _ in true }
      }
      clock += 1
      let isPinned = entries[key]?.isPinned ?? false
      entries[key] = Entry(byteCount: byteCount, style: key.style, order: clock, isPinned: isPinned)
      return true
    }

    mutating func get(_ key: CacheKey) {
      clock += 1
      if countsHits { entries[key]?.order = clock }
    }

    mutating func remove(_ key: CacheKey) { entries[key] = nil }
    mutating func removeAll() { entries = [:] }

    /// Returns whether the entry is pinned, or not, as wanted.
    mutating func set(isPinned: Bool, _ key: CacheKey) -> Bool {
      guard let entry = entries[key] else { return false }
      if entry.isPinned == isPinned { return true }
      if isPinned, entries.values.filter(\.isPinned).count + 1 > entryBudget / 4 { return false }
      clock += 1
      entries[key]!.isPinned = isPinned
      entries[key]!.order = clock
      return true
    }

    @discardableResult
    private mutating func evict(where isWanted: (Entry) -> Bool) -> Bool {
      let candidates = entries.filter { !$0.value.isPinned && isWanted($0.value) }
      guard let oldest = candidates.min(by: { $0.value.order < $1.value.order }) else { return false }
      entries[oldest.key] = nil
      return true
    }

    var uses: [StyleUse] {
      budgets.sorted { $0.key < $1.key }.map { style, budget in
        let own = entries.values.filter { $0.style == style }
        return StyleUse(
          style: style, budget: budget, entryCount: own.count, byteCount: own.reduce(0) { $0 + $1.byteCount })
      }
    }
  }

  /// A put of an original would remove the other styles of its URL.
  private static let styles = ["square-30", "square-60", "square-600"].map { Style($0)! }

  private static let budgets = [
    styles[0]: StyleBudget(byteCount: 60_000), styles[1]: StyleBudget(byteCount: 20_000, count: 25),
  ]

  @Test(arguments: [EvictionPolicy.lru, .fifo], RandomRuns.seeds([1, 2, 3, 4, 5, 6]))
  func theSameEntriesAreLeft(_ policy: EvictionPolicy, _ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let world = TestWorld(fileSystem: MemoryDisk(), seed: seed)
    let options = StoreOptions(
      byteBudget: 16 << 20, entryBudget: 100, policy: policy, styleBudgets: EvictionModelTests.budgets)
    var model = Model(EvictionModelTests.budgets, entryBudget: 100, countsHits: policy != .fifo)
    var store = try world.open("store", options)
    for step in 0..<3000 {
      let key = CacheKey("u\(random.next() % 80)", EvictionModelTests.styles[Int(random.next() % 3)])
      switch random.next() % 1000 {
      case 0..<450:
        // Some values are larger than the budget of their style.
        let byteCount = 1 + Int(random.next() % (random.next() % 50 == 0 ? 25_000 : 3000))
        let error = storeError { try store.put(noise(byteCount, random.next()), for: key) }
        #expect((error == nil) == model.put(key, byteCount), "step \(step): \(error.map { "\($0)" } ?? "stored")")
      case 450..<500:
        let isPinned = random.next() % 2 == 0
        let isSet = (try? isPinned ? store.pin(key) : store.unpin(key)) ?? false
        #expect(isSet == model.set(isPinned: isPinned, key), "step \(step)")
      case 500..<900:
        let bytes = store.bytes(key)
        #expect(bytes?.count == model.entries[key]?.byteCount, "step \(step)")
        if bytes != nil { model.get(key) }
      case 900..<960:
        _ = try store.remove(key)
        model.remove(key)
      case 960..<985:
        world.clock.advance(1000)
        world.background.run()
      case 985..<997:
        try store.close()
        store = try world.open("store", options)
      default:
        // Rarely, so that the store reaches its budget of entries.
        if random.next() % 8 > 0 { continue }
        try store.removeAll()
        model.removeAll()
      }
      try #require(store.styleBudgets == model.uses, "step \(step)")
    }
    for (key, entry) in model.entries { #expect(store.bytes(key)?.count == entry.byteCount) }
    #expect(store.count == model.entries.count && model.displacedCount > 0)
    #expect(store.statistics().pins?.entryCount == model.entries.values.filter(\.isPinned).count)
    try store.close()
  }
}
