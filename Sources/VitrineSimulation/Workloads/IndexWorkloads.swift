import Vitrine

/// Workloads of an index that no checkpoint writes whole.
enum IndexWorkloads {
  private static let entryCount = 300

  /// The index has several parts from a few entries on.
  private static let options = {
    var options = StoreOptions(byteBudget: 2 << 20)
    options.smallBase = 200
    return options
  }()

  static let pieces = CrashWorkload(
    "pieces", summary: "an index of several pieces: checkpoints write changes and some shards, and uses are saved",
    options: options
  ) { store, numbers in
    let names = (0..<entryCount).map { "p\($0)" }
    for start in stride(from: 0, to: entryCount, by: 100) {
      try store.batch(puts: (start..<start + 100).map { (names[$0], RecordedStore.bytes(4, $0)) })
    }
    try store.checkpoint()
    try store.begin()
    for number in 0..<12 {
      switch numbers.below(10) {
      case 0, 1: try store.checkpoint()
      case 2:
        let first = numbers.below(entryCount - 40)
        try store.removeMany(Array(names[first..<first + 40]))
      case 3:
        for _ in 0..<5 { store.use(names[numbers.below(entryCount)]) }
        store.passTime(milliseconds: 60_000)
        store.upkeep()
      case 4: try store.reopen()
      case 5:
        let first = numbers.below(entryCount - 60)
        try store.batch(puts: (0..<60).map { (names[first + $0], RecordedStore.bytes(5, $0 + number)) })
      default:
        let name = names[numbers.below(entryCount)]
        try store.put(name, RecordedStore.bytes(numbers.size() / 4, number), synced: numbers.chance(40))
      }
    }
    if numbers.chance(30) {
      // The area is cut.
      try store.removeMany(Array(names[..<250]))
      try store.idle()
      try store.put("last", RecordedStore.bytes(300, 70), synced: true)
    }
    if numbers.chance(50) { try store.close() }
  }
}
