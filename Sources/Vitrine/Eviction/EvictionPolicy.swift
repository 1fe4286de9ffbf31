/// Which entries a full store evicts first.
public enum EvictionPolicy: UInt8, Sendable, CaseIterable {
  /// The entry whose last use is oldest, exactly. A put, a change of metadata and a get are uses.
  case lru = 1
  /// The entry that was put first; gets change nothing. The cheapest policy: entries put together are evicted
  /// together.
  case fifo = 2

  /// The name in options of tools and in reports: `lru`, `fifo`.
  public var name: String {
    switch self {
    case .lru: "lru"
    case .fifo: "fifo"
    }
  }

  /// Finds the policy by its ``name``; nil if there is none.
  public init?(name: String) {
    guard let policy = EvictionPolicy.allCases.first(where: { $0.name == name }) else { return nil }
    self = policy
  }
}

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
