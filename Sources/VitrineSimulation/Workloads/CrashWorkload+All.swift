extension CrashWorkload {
  /// Those that come with the explorer: all that a store can be asked to do.
  public static let all: [CrashWorkload] = [
    making, puts, extremes, sharing, removals, batches, largeBatch, metadata, sources, bodies, drawings, eviction,
    entries, filling, compaction, logTurns, budgets,
    reopening, threads, readers, ages, shortSessions, repair, mending, upgrade, failedSyncs, fullDisk,
  ]
}

extension RandomNumberGenerator {
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Every third time such as compression gains from.
  mutating func bytes(_ count: Int, _ number: Int) -> [UInt8] {
    below(3) == 0
      ? (0..<count).map { UInt8(truncatingIfNeeded: ($0 / 9 + number) % 23) } : RecordedStore.bytes(count, number)
  }

  /// Mostly small ones, some of several pages, now and then none at all or more than a log's frame carries.
  mutating func size() -> Int {
    switch below(12) {
    case 0: below(3)
    case 1...6: below(1500)
    case 7...9: below(9000)
    case 10: below(40_000)
    default: 60_000 + below(60_000)
    }
  }
}
