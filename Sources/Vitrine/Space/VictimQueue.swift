/// The next entries to evict, of all entries or of one style.
struct VictimQueue {
  /// The next victims, in reverse order.
  private var queue: [Victim] = []
  /// The tag of the style; nil for all entries.
  private let style: UInt16?

  init(ofStyle style: UInt16? = nil) { self.style = style }

  /// The next victims, at most `count`, without entries used since they were queued. Empty if there are no entries, or
  /// if each was used during the search.
  mutating func next(_ count: Int, in keys: KeyTable) -> [Victim] {
    var victims: [Victim] = []
    // Victims taken from the queue are still in the table and would be found again, so the queue is filled only before
    // the first one is taken.
    for _ in 0..<2 where victims.isEmpty {
      if queue.isEmpty { queue = StampOrder.next(count, ofStyle: style, in: keys).reversed() }
      while victims.count < count, let victim = queue.popLast() {
        if keys.location(of: victim.hash, stamp: victim.stamp) != nil { victims.append(victim) }
      }
    }
    return victims
  }

  /// Puts victims that were not evicted back, as the next ones.
  mutating func putBack(_ victims: ArraySlice<Victim>) { queue.append(contentsOf: victims.reversed()) }
}

/// The queue of all entries, those of styles with a budget, and the time when old stamps were last lifted.
struct VictimQueues {
  var all = VictimQueue()
  private var styles: [UInt16: VictimQueue] = [:]
  /// The recency clock when old stamps were last lifted.
  private var lifted: UInt32?

  /// The next victims among the entries of a style. See ``VictimQueue/next(_:in:)``.
  mutating func next(_ count: Int, ofStyle tag: UInt16, in keys: KeyTable) -> [Victim] {
    styles[tag, default: VictimQueue(ofStyle: tag)].next(count, in: keys)
  }

  mutating func putBack(_ victims: ArraySlice<Victim>, ofStyle tag: UInt16) { styles[tag]?.putBack(victims) }

  /// Lifts old stamps if 2^30 uses have passed since the last time, and at the first call.
  mutating func liftStamps(of catalog: Catalog) {
    let now = catalog.keys.clock.now
    if let lifted, now &- lifted < 1 << 30 { return }
    lifted = now
    all = VictimQueue()
    styles = [:]
    let stamps = catalog.keys.liftOldStamps()
    catalog.useTimes.withLock { $0.lift(stamps.reading) }
  }
}
