import Vitrine

/// Workloads of stores that are full, and evict.
enum EvictionWorkloads {
  static let eviction = CrashWorkload(
    "eviction", summary: "puts into a full store", options: StoreOptions(byteBudget: 1 << 20, policy: .lru)
  ) { store, numbers in
    for number in 0..<30 { try store.put("k\(number)", RecordedStore.bytes(20_000 + number % 7 * 3000, number)) }
    try store.begin()
    for _ in 0..<2 { store.hold("k\(numbers.below(30))") }
    for number in 30..<34 {
      try store.put("k\(number)", RecordedStore.bytes(9000 + numbers.below(30_000), number), synced: numbers.chance(50))
      if numbers.chance(40) { store.upkeep() }
    }
    try store.checkHeld()
  }

  static let cleaning = CrashWorkload(
    "cleaning", summary: "puts into a full store that reclaims space by segments",
    options: StoreOptions(byteBudget: 2 << 20, segmentByteCount: 96 << 10, policy: .s3fifo)
  ) { store, numbers in
    for number in 0..<90 {
      try store.put("k\(number)", RecordedStore.bytes(12_000 + number % 7 * 3000, number))
      if number % 3 == 0 { store.use("k\(number)") }
    }
    // A payload outlives its own key.
    try store.put("sharer", RecordedStore.bytes(12_000 + 80 % 7 * 3000, 80))
    try store.begin()
    for number in 90..<104 {
      for _ in 0..<3 { store.use("k\(numbers.below(number))") }
      // Keys that were evicted come back.
      let name = numbers.chance(40) ? "k\(numbers.below(90))" : "k\(number)"
      try store.put(name, RecordedStore.bytes(9000 + numbers.below(30_000), number), synced: numbers.chance(30))
      if numbers.chance(20) { try store.put("single", RecordedStore.bytes(100_000, number)) }
      if numbers.chance(10) { try store.remove("k\(numbers.below(90))") }
      if numbers.chance(30) { store.upkeep() }
    }
    if numbers.chance(30) { try store.reopen() }
    try store.put("last", RecordedStore.bytes(30_000, 200), synced: true)
  }

  static let entries = CrashWorkload(
    "entries", summary: "puts into a store with a limit of entries",
    options: StoreOptions(byteBudget: 1 << 20, entryBudget: 5)
  ) { store, numbers in
    for number in 0..<5 { try store.put("k\(number)", RecordedStore.bytes(900 + numbers.below(2000), number)) }
    try store.begin()
    for number in 5..<13 {
      try store.put(
        "k\(numbers.below(12))", RecordedStore.bytes(100 + numbers.below(4000), number), synced: numbers.chance(50))
      if numbers.chance(20) { store.upkeep() }
    }
    if numbers.chance(50) { try store.setEntryBudget(3) }
    try store.put("last", RecordedStore.bytes(80, 90), synced: true)
  }

  static let limits = CrashWorkload(
    "limits", summary: "puts beyond the budget of a style, and beside pinned entries",
    options: StoreOptions(
      byteBudget: 1 << 20, entryBudget: 14, policy: .lru,
      styleBudgets: Style("small").map { [$0: StyleBudget(byteCount: 9000, count: 4)] } ?? [:])
  ) { store, numbers in
    guard let small = Style("small") else { return }
    func put(_ number: Int) throws {
      let isSmall = numbers.chance(60)
      let name = "\(isSmall ? "s" : "o")\(numbers.below(isSmall ? 7 : 14))"
      // At most three entries are pinned, two of them of the style.
      let mayBePinned = ["s0", "s1", "o0"].contains(name)
      try store.put(
        CacheKey(name, isSmall ? small : .original), RecordedStore.bytes(200 + numbers.below(2800), number),
        options: PutOptions(
          durability: numbers.chance(50) ? .synced : .buffered, isPinned: mayBePinned && numbers.chance(50)))
    }
    for number in 0..<25 { try put(number) }
    try store.begin()
    for number in 25..<37 {
      try put(number)
      switch numbers.below(10) {
      case 0: try store.pin("s0", style: small, isOn: numbers.chance(50), synced: numbers.chance(50))
      case 1: try store.pin("o0", isOn: numbers.chance(50), synced: numbers.chance(50))
      case 2: store.upkeep()
      case 3: try store.checkpoint()
      default: break
      }
    }
    if numbers.chance(40) { try store.reopen() }
    try store.put("last", RecordedStore.bytes(80, 90), synced: true)
  }

  static let trims = CrashWorkload(
    "trims", summary: "entries evicted down to sizes and numbers that the caller names, and those not used for a time",
    options: StoreOptions(byteBudget: 4 << 20)
  ) { store, numbers in
    for number in 0..<30 {
      try store.put("k\(number)", RecordedStore.bytes(15_000 + numbers.below(15_000), number))
      if number == 15 { store.passTime(milliseconds: 20_000) }
    }
    try store.begin()
    for round in 0..<2 {
      switch numbers.below(3) {
      case 0: try store.trim(toBytes: (numbers.below(10) == 0 ? 0 : 400_000) + numbers.below(400_000))
      case 1: try store.trim(toEntries: 3 + numbers.below(20))
      default: try store.removeUnused(forMilliseconds: 10_000)
      }
      for number in 0..<4 {
        try store.put(
          "k\(numbers.below(40))", RecordedStore.bytes(numbers.below(30_000), 100 + 10 * round + number),
          synced: numbers.chance(50))
      }
      if numbers.chance(50) { store.upkeep() }
    }
  }
}
