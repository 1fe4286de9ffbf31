/// Who goes first when a store is full.
public enum EvictionPolicy: UInt8, Sendable, CaseIterable {
  /// Whoever was asked for longest ago, exactly. A put, a change of metadata and a get are uses.
  case lru = 1
  /// Whoever was put longest ago; gets change nothing. The cheapest to keep: what is put together goes together.
  case fifo = 2

  /// As it is written in options of tools and in reports: `lru`, `fifo`.
  public var name: String {
    switch self {
    case .lru: "lru"
    case .fifo: "fifo"
    }
  }

  /// The policy of that ``name``; nil when there is none.
  public init?(name: String) {
    guard let policy = EvictionPolicy.allCases.first(where: { $0.name == name }) else { return nil }
    self = policy
  }
}

/// What a policy has to tell: what a hit leaves in the index, and whose turn it is. A policy that keeps streams of its own
/// (probation and main, with a ghost of what was dropped) says so here too, once there is one.
protocol EvictionOrder: Sendable {
  /// Whether a hit changes an entry's stamp.
  var countsHits: Bool { get }
  /// At least `count` entries that go before all others, the first first, fewer when there are fewer. Whoever was used
  /// since then is passed over by the caller.
  func next(_ count: Int, in keys: KeyTable) -> [Victim]
}

/// An entry as it was when it was found to be next: it counts only as long as it keeps its stamp. It may be moved.
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
