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

  static let cleaning = full(
    "cleaning", summary: "puts into a full store that reclaims space by segments", policy: .s3fifo
  ) { store, numbers in
    for number in 90..<104 { try change(store, number, &numbers) }
    if numbers.chance(30) { try store.reopen() }
  }

  static let sieve = full(
    "sieve", summary: "puts into a full store that reclaims segments in sweeps", policy: .sieve
  ) { store, numbers in
    for number in 90..<104 { try change(store, number, &numbers) }
    if numbers.chance(30) { try store.reopen() }
  }

  static let policies = full(
    "policies", summary: "a full store that each opening gives another policy", policy: .lru
  ) { store, numbers in
    let policies: [EvictionPolicy] = [.lru, .fifo, .sieve, .s3fifo]
    for round in 0..<3 {
      store.options.policy = policies[numbers.below(policies.count)]
      try store.reopen()
      for number in 0..<4 { try change(store, 90 + 5 * round + number, &numbers) }
    }
  }

  /// A workload of a store that 91 entries of 12 to 30 kB have filled. One payload belongs to two keys. The body is
  /// followed by a synced put.
  private static func full(
    _ name: String, summary: String, policy: EvictionPolicy, _ body: @escaping CrashWorkload.Body
  ) -> CrashWorkload {
    CrashWorkload(
      name, summary: summary,
      options: StoreOptions(byteBudget: 2 << 20, segmentByteCount: 96 << 10, policy: policy)
    ) { store, numbers in
      for number in 0..<90 {
        try store.put("k\(number)", RecordedStore.bytes(12_000 + number % 7 * 3000, number))
        if number % 3 == 0 { store.use("k\(number)") }
      }
      // A payload outlives its own key.
      try store.put("sharer", RecordedStore.bytes(12_000 + 80 % 7 * 3000, 80))
      try store.begin()
      try body(store, &numbers)
      try store.put("last", RecordedStore.bytes(30_000, 200), synced: true)
    }
  }

  /// Uses three entries, and puts one, which may be an evicted one. Sometimes puts a value of a segment, changes the
  /// head of an entry, removes an entry, or does the upkeep.
  private static func change(
    _ store: RecordedStore, _ number: Int, _ numbers: inout any RandomNumberGenerator
  ) throws {
    for _ in 0..<3 { store.use("k\(numbers.below(number))") }
    let name = numbers.chance(40) ? "k\(numbers.below(90))" : "k\(number)"
    try store.put(name, RecordedStore.bytes(9000 + numbers.below(30_000), number), synced: numbers.chance(30))
    if numbers.chance(20) { try store.put("single", RecordedStore.bytes(100_000, number)) }
    // The room for the head of an older entry could be made by the eviction of that entry.
    if numbers.chance(30) { try store.setMetadata(name, RecordedStore.bytes(300, number)) }
    if numbers.chance(10) { try store.remove("k\(numbers.below(90))") }
    if numbers.chance(30) { store.upkeep() }
  }

  /// Another program takes room of the disk and gives it back.
  static let scarce = CrashWorkload(
    "scarce", summary: "a disk with fewer free bytes than the store must leave",
    options: StoreOptions(byteBudget: 3 << 20, minimumFreeBytes: 1 << 20, segmentByteCount: 64 << 10)
  ) { store, numbers in
    for number in 0..<60 { try store.put("k\(number)", RecordedStore.bytes(20_000, number)) }
    try store.begin()
    let disk = store.world.disk
    for turn in 0..<2 {
      disk.setCapacity(disk.usedByteCount + (1 << 20) - numbers.below(500_000))
      for number in 0..<3 {
        try store.put(
          "k\(numbers.below(70))", RecordedStore.bytes(5000 + numbers.below(30_000), 100 + 10 * turn + number),
          synced: numbers.chance(50))
        if numbers.chance(50) { store.upkeep() }
      }
      disk.giveRoom()
      if numbers.chance(30) { try store.reopen() }
    }
    try store.put("last", RecordedStore.bytes(80, 90), synced: true)
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
