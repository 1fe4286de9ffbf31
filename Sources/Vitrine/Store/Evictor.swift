/// Whose turn it is, and what eviction has done. Guarded by its lock, which is taken after the upkeep lock and before the
/// sync lock.
final class Evictor: @unchecked Sendable {
  let order: any EvictionOrder
  let lock = RawLock()
  /// Those that go next, the last first.
  private var queue: [Victim] = []
  /// Where the recency clock stood when old stamps were last lifted.
  private var lifted: UInt32?

  // Guarded by the commit lock.
  var record = EvictionRecord()

  init(order: any EvictionOrder) { self.order = order }

  deinit { lock.destroy() }

  /// The next to go, at most `count`, of those that have not been used since they were found. None when none are there,
  /// and when each was used while they were looked for.
  func next(_ count: Int, in keys: KeyTable) -> [Victim] {
    var victims: [Victim] = []
    // What was just taken from the queue is still in the table, so it is filled only before anything is.
    for _ in 0..<2 where victims.isEmpty {
      if queue.isEmpty { queue = order.next(count, in: keys).reversed() }
      while victims.count < count, let victim = queue.popLast() {
        if keys.location(of: victim.hash, stamp: victim.stamp) != nil { victims.append(victim) }
      }
    }
    return victims
  }

  /// Lifts old stamps once 2^30 uses have gone by, and at the first call.
  func liftStamps(of catalog: Catalog) {
    let now = catalog.keys.clock.now
    if let lifted, now &- lifted < 1 << 30 { return }
    lifted = now
    queue = []
    let readings = catalog.useTimes.withLock { $0.readings }
    // The entries first: on the way they are said to have been used later than they were, never earlier.
    let stamps = catalog.keys.liftOldStamps(readings: readings.map(\.stamp))
    catalog.useTimes.withLock { $0.lift(stamps) }
  }

  /// Takes back those that have not gone, which are next again.
  func putBack(_ victims: ArraySlice<Victim>) { queue.append(contentsOf: victims.reversed()) }
}

/// What eviction has done since the store was opened.
struct EvictionRecord: Sendable, Equatable {
  static let bucketCount = 16

  var entryCount = 0
  /// Of records that nobody needs any more.
  var byteCount = 0
  /// How long ago the evicted were last used: below a second, below 4 seconds, below 16, and so on.
  var ages = [Int](repeating: 0, count: bucketCount)

  mutating func note(ageMilliseconds: Int64) {
    entryCount += 1
    var bucket = 0
    var bound: Int64 = 1000
    while ageMilliseconds >= bound, bucket < EvictionRecord.bucketCount - 1 {
      bound *= 4
      bucket += 1
    }
    ages[bucket] += 1
  }
}
