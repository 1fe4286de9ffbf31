/// An estimate of the misses that a store would have with other budgets: its miss-ratio curve.
///
/// The writer follows a sample of its keys (fixed-size SHARDS, Waldspurger et al., FAST 2015), evicted ones included.
/// The estimate is for an LRU cache in which each miss is followed by a put. The store's own policy usually misses
/// less than that, so compare the estimates with each other, and with ``missRatio``, the measured ratio of the same
/// requests.
///
/// Each opening for writing begins a new curve, from about one key in 64. Until it follows 32 keys and has counted
/// ``leastRequestCount`` requests, the statistics have the curve of an earlier opening. For this number, the first hit
/// of a key that was put before the opening does not count. Gets of read-only openings do not count.
public struct MissCurve: Sendable, Equatable {
  /// The estimate for one size.
  public struct Point: Sendable, Equatable {
    /// The byte budget.
    public var byteBudget: Int
    /// Bytes of values that a store with this budget holds, by the share that values have of the folder at present.
    public var valueByteCount: Int
    /// Misses divided by requests, from 0 to 1.
    public var missRatio: Double
  }

  /// The least number of requests for a curve. First hits of keys that were put before the opening do not count.
  public static let leastRequestCount = 10_000

  /// The estimates for an eighth, a quarter, half, once, twice, four and eight times the byte budget. If the store
  /// has an entry budget, it is taken as changed by the same factor.
  public var points: [Point]
  /// The byte budget at the time of the estimate.
  public var byteBudget: Int
  /// Number of requests of the opening until then, all keys counted.
  public var requestCount: Int
  /// The measured misses of these requests, divided by their number.
  public var missRatio: Double
}
