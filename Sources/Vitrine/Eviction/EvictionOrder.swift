/// The decisions of a policy: whether a hit changes the index, and which entry is evicted next. A policy that takes
/// space back by segments decides by ``CleaningPlan``; limits of entries and trims follow this order.
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
    case .s3fifo: StampOrder(countsHits: true)
    }
  }

  /// Whether a full store reclaims space by whole segments, by the uses of the entries in them.
  var cleansSegments: Bool { self == .s3fifo }
}
