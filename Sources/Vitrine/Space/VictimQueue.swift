/// The next entries to evict, and when old stamps were last lifted.
struct VictimQueue {
  private let order: any EvictionOrder
  /// Those that go next, the last first.
  private var queue: [Victim] = []
  /// Where the recency clock stood when old stamps were last lifted.
  private var lifted: UInt32?

  init(order: any EvictionOrder) { self.order = order }

  /// The next to go, at most `count`, of those that have not been used since they were found. None when none are there,
  /// and when each was used while they were looked for.
  mutating func next(_ count: Int, in keys: KeyTable) -> [Victim] {
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
  mutating func liftStamps(of catalog: Catalog) {
    let now = catalog.keys.clock.now
    if let lifted, now &- lifted < 1 << 30 { return }
    lifted = now
    queue = []
    let stamps = catalog.keys.liftOldStamps()
    catalog.useTimes.withLock { $0.lift(stamps.reading) }
  }

  /// Takes back those that have not gone, which are next again.
  mutating func putBack(_ victims: ArraySlice<Victim>) { queue.append(contentsOf: victims.reversed()) }
}
