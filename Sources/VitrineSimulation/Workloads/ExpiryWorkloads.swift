import Vitrine

/// Workloads of entries that expire.
enum ExpiryWorkloads {
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
}
