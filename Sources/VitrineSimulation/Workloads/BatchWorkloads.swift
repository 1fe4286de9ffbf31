import Vitrine

/// Workloads of changes that happen together.
enum BatchWorkloads {
  static let batches = CrashWorkload(
    "batches", summary: "batches of puts and removals"
  ) { store, numbers in
    try store.put("k0", RecordedStore.bytes(300, 1), synced: true)
    for number in 0..<4 {
      let shared = RecordedStore.bytes(100 + numbers.below(3000), 40 + number)
      var puts: [(String, [UInt8])] = []
      for key in 0..<5 where numbers.chance(50) {
        puts.append(
          ("k\(key)", numbers.chance(30) ? shared : numbers.bytes(numbers.size() / 4, number * 5 + key)))
      }
      let put = Set(puts.map(\.0))
      let removals = (0..<5).map { "k\($0)" }.filter { !put.contains($0) && numbers.chance(30) }
      try store.batch(puts: puts, removals: removals, synced: numbers.chance(50))
      if numbers.chance(25) { store.upkeep() }
    }
    try store.flush()
  }

  static let largeBatch = CrashWorkload(
    "large-batch", summary: "batches larger than a log file"
  ) { store, numbers in
    try store.put("first", RecordedStore.bytes(300, 1), synced: true)
    let count = 250 + numbers.below(120)
    let many = (0..<count).map { ("k\($0)", RecordedStore.bytes(20, 100 + $0)) }
    try store.batch(puts: many, removals: ["first"], synced: numbers.chance(50))
    try store.put("later", RecordedStore.bytes(numbers.below(3000), 2), synced: numbers.chance(50))
  }
}
