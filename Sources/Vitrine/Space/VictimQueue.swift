/// The next entries to evict, and the time when old stamps were last lifted.
struct VictimQueue {
  /// The next victims, in reverse order.
  private var queue: [Victim] = []
  /// The recency clock when old stamps were last lifted.
  private var lifted: UInt32?

  /// The next victims, at most `count`, without entries used since they were queued. Empty if there are no entries, or
  /// if each was used during the search.
  mutating func next(_ count: Int, in keys: KeyTable) -> [Victim] {
    var victims: [Victim] = []
    // Victims taken from the queue are still in the table and would be found again, so the queue is filled only before
    // the first one is taken.
    for _ in 0..<2 where victims.isEmpty {
      if queue.isEmpty { queue = StampOrder.next(count, in: keys).reversed() }
      while victims.count < count, let victim = queue.popLast() {
        if keys.location(of: victim.hash, stamp: victim.stamp) != nil { victims.append(victim) }
      }
    }
    return victims
  }

  /// Lifts old stamps if 2^30 uses have passed since the last time, and at the first call.
  mutating func liftStamps(of catalog: Catalog) {
    let now = catalog.keys.clock.now
    if let lifted, now &- lifted < 1 << 30 { return }
    lifted = now
    queue = []
    let stamps = catalog.keys.liftOldStamps()
    catalog.useTimes.withLock { $0.lift(stamps.reading) }
  }

  /// Returns victims that were not evicted to the queue, as the next ones.
  mutating func putBack(_ victims: ArraySlice<Victim>) { queue.append(contentsOf: victims.reversed()) }
}
