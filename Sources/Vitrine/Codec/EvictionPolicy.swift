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
