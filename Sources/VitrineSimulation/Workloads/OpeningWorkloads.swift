import Vitrine

/// Workloads of several openings, one after the other or side by side.
enum OpeningWorkloads {
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

  static let readers = CrashWorkload(
    "readers", summary: "read-only openings beside the writer, which see its entries and change nothing"
  ) { store, numbers in
    for number in 0..<4 { try store.put("k\(number)", RecordedStore.bytes(numbers.size() / 2, number)) }
    var readers: [CacheStore] = []
    for number in 0..<10 {
      if numbers.chance(30), let reader = try store.reader() { readers.append(reader) }
      let name = "k\(numbers.below(5))"
      switch numbers.below(6) {
      case 0: try store.remove(name, synced: numbers.chance(50))
      case 1: try store.checkpoint()
      case 2: try store.compact()
      case 3 where numbers.chance(30): try store.removeAll()
      default: try store.put(name, RecordedStore.bytes(numbers.size() / 2, 10 + number), synced: numbers.chance(40))
      }
      if numbers.chance(20) { store.upkeep() }
      for reader in readers where numbers.chance(50) { try store.check(reader) }
    }
    for reader in readers { try store.check(reader) }
  }

  /// Removes and overwrites nothing, because the segments alone do not record that.
  static let repair = CrashWorkload(
    "repair", summary: "the index is lost, and rebuilt from the segments",
    traits: .mayComplain
  ) { store, numbers in
    let shared = RecordedStore.bytes(2000, 50)
    for number in 0..<12 {
      let bytes = numbers.chance(25) ? shared : RecordedStore.bytes(numbers.size() / 3, number)
      try store.put("k\(number)", bytes, synced: numbers.chance(20), metadata: RecordedStore.bytes(number, number))
    }
    try store.loseIndexAndReopen(repairs: numbers.chance(50))
    for number in 0..<3 {
      try store.put(
        "later\(number)", RecordedStore.bytes(numbers.size() / 3, 80 + number), synced: numbers.chance(50))
    }
  }

  static let mending = CrashWorkload(
    "mending",
    summary: "a checkpoint's file is lost while it is closed, and a segment's name is taken while it is open",
    traits: .needsRoomToOpen
  ) { store, numbers in
    func put(_ count: Int, _ from: Int) throws {
      for number in from..<from + count {
        try store.put(
          "k\(numbers.below(5))", RecordedStore.bytes(numbers.size() / 3, number), synced: numbers.chance(40))
      }
    }
    try put(4, 0)
    if numbers.chance(50) { try store.checkpoint() }
    try store.loseOlderCheckpointAndReopen()
    try put(3, 10)
    store.takeNextSegmentsName(RecordedStore.bytes(numbers.below(9000), 20))
    try store.put("large", RecordedStore.bytes(50_000 + numbers.below(50_000), 21), synced: numbers.chance(50))
    if numbers.chance(50) { try store.checkpoint() }
    try put(2, 30)
  }
}
