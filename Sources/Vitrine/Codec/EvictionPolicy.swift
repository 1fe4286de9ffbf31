/// The choice of the entries that a full store evicts first.
public enum EvictionPolicy: UInt8, Sendable, CaseIterable {
  /// The entry whose last use is oldest. A put, a change of metadata and a get are uses. The order is exact for the
  /// uses of one thread, and accurate to a tick of the clock (about 4 ms) between threads.
  case lru = 1
  /// The entry whose last put or change of metadata is oldest; gets change nothing. The cheapest policy: entries put
  /// together are evicted together.
  case fifo = 2
  /// The default: entries that are not used again. New entries pass through a tenth of the store first, so a scan does
  /// not evict entries that are used often. After S3-FIFO (Yang et al., SOSP 2023), with segments in place of
  /// entries. To keep used entries, a full store copies at most 10 % of the bytes put; it also copies the live rest of
  /// mostly dead segments. An entry budget evicts the entries whose last use is oldest.
  case s3fifo = 3
  /// Entries that were not used since the last sweep over the store, the oldest first. After SIEVE (Zhang et al., NSDI
  /// 2024), with segments in place of entries. Suits accesses without scans. Copies and entry budgets are as under
  /// `s3fifo`.
  case sieve = 4

  /// The name in options of tools and in reports: `lru`, `fifo`, `s3fifo`, `sieve`.
  public var name: String {
    switch self {
    case .lru: "lru"
    case .fifo: "fifo"
    case .s3fifo: "s3fifo"
    case .sieve: "sieve"
    }
  }

  /// Finds the policy by its ``name``; nil if there is none.
  public init?(name: String) {
    guard let policy = EvictionPolicy.allCases.first(where: { $0.name == name }) else { return nil }
    self = policy
  }
}
