/// The decisions of a policy: whether a hit changes the index, and which entry is evicted next. A policy with
/// streams of its own (probation and main, with a ghost of dropped entries) would say so here too.
protocol EvictionOrder: Sendable {
  /// Whether a hit changes an entry's stamp.
  var countsHits: Bool { get }
  /// Returns at least `count` entries to evict, the first one first; fewer if the store has fewer. The caller skips
  /// entries that were used since.
  func next(_ count: Int, in keys: KeyTable) -> [Victim]
}

/// An entry chosen for eviction: valid only as long as it keeps its stamp. Its record may be moved.
struct Victim: Sendable {
  let hash: KeyHash
  let stamp: UInt32
  let location: Location
}

extension EvictionPolicy {
  var order: any EvictionOrder {
    switch self {
    case .lru: StampOrder(countsHits: true)
    case .fifo: StampOrder(countsHits: false)
    }
  }
}
