import Vitrine

/// Workloads of budgets that change, and of values that take most of one.
enum BudgetWorkloads {
  static let budgets = CrashWorkload(
    "budgets", summary: "a byte budget made smaller and larger while the store is full",
    options: StoreOptions(byteBudget: 3 << 19)
  ) { store, numbers in
    for number in 0..<30 { try store.put("k\(number)", RecordedStore.bytes(40_000, number)) }
    try store.begin()
    try store.setByteBudget((1 << 20) + numbers.below(200_000))
    try store.put("after", RecordedStore.bytes(5000 + numbers.below(15_000), 500), synced: true)
    if numbers.chance(50) { try store.setByteBudget(3 << 19) }
    try store.put("later", RecordedStore.bytes(5000 + numbers.below(15_000), 501))
  }

  /// Segments stay small, since a disk in memory cannot have those of such a budget.
  static let largeBudgets = CrashWorkload(
    "large-budgets", summary: "byte budgets beyond any disk, set or brought by an opening, and made small again",
    options: StoreOptions(byteBudget: 2 << 20, segmentByteCount: 64 << 10)
  ) { store, numbers in
    let budgets = [Int.max, StoreOptions.largestByteBudget, StoreOptions.largestByteBudget - 1, 1 << 40, 2 << 20]
    for round in 0..<4 {
      let budget = budgets[numbers.below(budgets.count)]
      if numbers.chance(50) {
        try store.setByteBudget(budget)
      } else {
        store.options.byteBudget = budget
        try store.reopen()
        store.noteBudget(store.store.statistics().byteBudget)
      }
      for number in 0..<3 {
        let bytes = RecordedStore.bytes(numbers.size() / 2, 10 * round + number)
        try store.put("k\(numbers.below(5))", bytes, synced: numbers.chance(40))
      }
      if numbers.chance(25) { try store.compact() }
    }
    try store.setByteBudget(2 << 20)
    try store.put("last", RecordedStore.bytes(80, 90), synced: true)
  }

  static let giants = CrashWorkload(
    "giants", summary: "batches and values of more than half of the budget, one after the other",
    options: StoreOptions(byteBudget: 2 << 20)
  ) { store, numbers in
    for number in 0..<6 { try store.put("k\(number)", RecordedStore.bytes(20_000, number)) }
    try store.begin()
    for round in 0..<2 {
      if numbers.chance(50) {
        let size = 1_100_000 / 14 + numbers.below(1000)
        // Other names in each round: the history does not know which of its own keys a failed batch has evicted.
        let parts = (0..<14).map { ("part\(round)/\($0)", RecordedStore.bytes(size, 100 * round + $0)) }
        try store.batch(puts: parts, removals: ["k\(round)"], synced: numbers.chance(50))
      } else {
        try store.put("giant\(round)", RecordedStore.bytes(1_100_000, 50 + round), synced: numbers.chance(50))
      }
      if numbers.chance(30) { store.upkeep() }
    }
    try store.put("last", RecordedStore.bytes(80, 90), synced: true)
  }
}
