import Vitrine

extension CrashWorkload {
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

  static let ages = CrashWorkload(
    "ages", summary: "entries that expire, extended by use or not, under a clock that steps both ways"
  ) { store, numbers in
    let hour = 3_600_000
    for number in 0..<10 {
      let key = CacheKey("k\(numbers.below(5))")
      var options = PutOptions(durability: numbers.chance(40) ? .synced : .buffered)
      let life = Int64(1 + numbers.below(5 * hour))
      switch numbers.below(3) {
      case 0: options.expirationMilliseconds = store.now + life
      case 1: options.slidingExpirationMilliseconds = life
      default: break
      }
      try store.put(key, RecordedStore.bytes(numbers.size() / 3, number), options: options)
      if numbers.chance(25) {
        try store.setExpiration(
          "k\(numbers.below(5))", numbers.chance(30) ? nil : store.now + Int64(1 + numbers.below(9 * hour)),
          synced: numbers.chance(50))
      }
      switch numbers.below(4) {
      case 0: store.stepClock(milliseconds: numbers.below(4 * hour))
      case 1: store.stepClock(milliseconds: -numbers.below(400 * 24 * hour))
      default: break
      }
      if numbers.chance(25) { store.upkeep() }
    }
    try store.put("last", RecordedStore.bytes(90, 99), synced: true)
  }

  static let shortSessions = CrashWorkload(
    "short-sessions", summary: "openings of a few changes each, and entries that have expired by the next one",
    options: StoreOptions(byteBudget: 1 << 20, entryBudget: 6)
  ) { store, numbers in
    try store.put("lasting", RecordedStore.bytes(700, 1))
    for session in 0..<4 {
      for number in 0..<3 {
        let bytes = RecordedStore.bytes(numbers.size() / 3, 10 * session + number)
        let options = PutOptions(
          expirationMilliseconds: store.now + Int64(1 + numbers.below(2000)),
          durability: numbers.chance(40) ? .synced : .buffered)
        try store.put(CacheKey("k\(numbers.below(7))"), bytes, options: options)
      }
      store.stepClock(milliseconds: 1000 + numbers.below(1000))
      if numbers.chance(30) { store.upkeep() }
      if numbers.chance(70) { try store.reopen() }
    }
    try store.put("last", RecordedStore.bytes(90, 99), synced: true)
  }

  static let mending: CrashWorkload = {
    var workload = CrashWorkload(
      "mending",
      summary: "a checkpoint's file is lost while it is closed, and a segment's name is taken while it is open"
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
    workload.needsRoomToOpen = true
    return workload
  }()

  /// Removes and overwrites nothing, because the segments alone do not record that.
  static let repair: CrashWorkload = {
    var workload = CrashWorkload(
      "repair", summary: "the index is lost, and rebuilt from the segments"
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
    workload.mayComplain = true
    return workload
  }()
}
