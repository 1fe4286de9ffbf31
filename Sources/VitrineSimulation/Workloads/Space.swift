import Vitrine

extension CrashWorkload {
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

  static let filling = CrashWorkload(
    "filling", summary: "a large segment, which takes small values through a mapping once much is written",
    options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 512 << 10)
  ) { store, numbers in
    for number in 0..<10 { try store.put("k\(number % 4)", RecordedStore.bytes(7000 + number, number)) }
    for number in 10..<24 {
      try store.put("k\(numbers.below(6))", RecordedStore.bytes(500 + numbers.below(3000), number))
      // After a sync, the log uses positioned writes again until enough bytes were written since.
      if numbers.chance(8) { try store.put("synced", RecordedStore.bytes(300 + number, number), synced: true) }
      if numbers.chance(6) { store.upkeep() }
    }
    try store.put("last", RecordedStore.bytes(80, 90), synced: numbers.chance(50))
  }

  static let compaction = CrashWorkload(
    "compaction", summary: "compaction of sparse segments, with shared payloads and styles"
  ) { store, numbers in
    guard let small = Style("small") else { return }
    func style(_ number: Int) -> Style { number % 3 == 0 ? .original : small }
    for number in 0..<40 {
      try store.put("k\(number)", RecordedStore.bytes(6000 + number * 50, number), style: style(number))
    }
    try store.put("shared", RecordedStore.bytes(4000, 900), style: small)
    try store.put("sharer", RecordedStore.bytes(4000, 900))
    try store.setMetadata("sharer", [1, 2, 3])
    let kept = numbers.below(4)
    for number in 0..<40 where number % 4 != kept {
      try store.batch("k\(number)", styles: [(style(number), RecordedStore.bytes(10, number))])
    }
    try store.begin()
    for number in [kept + 4 * numbers.below(10), kept + 4 * numbers.below(10)] {
      store.hold("k\(number)", style: style(number))
    }
    try store.compact()
    try store.put("after", RecordedStore.bytes(500 + numbers.below(900), 1000), synced: true)
    if numbers.chance(50) { try store.compact() }
    try store.put("later", RecordedStore.bytes(700, 1001))
    store.upkeep()
    try store.checkHeld()
  }

  static let logTurns = CrashWorkload(
    "log-turns", summary: "the log rotates through its files, with checkpoints at any time"
  ) { store, numbers in
    // The log's files are 32 KiB: each synced put fills a good part of one; buffered ones leave several of them
    // unsynced.
    let synced = [70, 70, 20, 0][numbers.below(4)]
    for number in 0..<(synced == 0 ? 150 : 16) {
      try store.put(
        "k\(numbers.below(5))", RecordedStore.bytes(synced == 0 ? 40 : 2000 + numbers.below(1900), number),
        synced: numbers.chance(synced))
      if numbers.chance(15) { store.upkeep() }
      if numbers.chance(synced == 0 ? 1 : 10) { try store.checkpoint() }
    }
    if synced == 0, numbers.chance(60) { try store.checkpoint() }
    if numbers.chance(40) {
      // The log needs a file while a checkpoint is about to free some.
      let bystanders = (0..<10).map {
        RecordedStore.Bystander.put("by\($0)", RecordedStore.bytes(3000 + numbers.below(900), 200 + $0), synced: true)
      }
      try store.overlap(sync: 1 + numbers.below(3), bystanders) { try store.checkpoint() }
    }
  }

  static let bursts = CrashWorkload(
    "bursts", summary: "a log and segments that grow with a burst of puts and are cut after it",
    options: StoreOptions(byteBudget: 32 << 20)
  ) { store, numbers in
    func burst(_ first: Int, _ count: Int) throws {
      for number in first..<first + count {
        let byteCount = numbers.chance(10) ? 50_000 + numbers.below(50_000) : 300 + numbers.below(3000)
        try store.put("k\(numbers.below(25))", RecordedStore.bytes(byteCount, number), synced: numbers.chance(40))
        if numbers.chance(4) { store.upkeep() }
      }
    }
    func calm() throws {
      switch numbers.below(4) {
      case 0: try store.idle()
      case 1: try store.reopen()
      case 2: _ = try store.compact()
      default:
        store.passTime(milliseconds: 700_000)
        store.upkeep()
      }
    }
    try burst(0, 20 + numbers.below(50))
    try store.begin()
    if numbers.chance(30) {
      // Longer than the log at first. The second one meets a log file without frames.
      for first in [0, 200] {
        try store.batch(puts: (first..<first + 200).map { ("n\($0 % 250)", RecordedStore.bytes(30, $0)) })
      }
    }
    try calm()
    try burst(100, 6)
    if numbers.chance(40) { try store.removeAll() }
    try calm()
    try store.put("last", RecordedStore.bytes(80, 90), synced: numbers.chance(50))
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

  static let reopening = CrashWorkload(
    "reopening", summary: "the store is closed and opened again; each opening continues the log of the previous one"
  ) { store, numbers in
    for number in 0..<9 {
      let name = "k\(numbers.below(4))"
      if numbers.chance(20) {
        try store.remove(name, synced: numbers.chance(50))
      } else {
        try store.put(name, RecordedStore.bytes(numbers.size() / 2, number), synced: numbers.chance(40))
      }
      if numbers.chance(25) { try store.reopen() }
    }
    if numbers.chance(50) { try store.close() }
  }
}
