/// The limits of a memory cache.
public struct MemoryLimits: Sendable, Hashable {
  /// The largest sum of costs, in the unit of the costs: see ``MemoryCache``.
  public var cost: Int
  /// The largest number of values.
  public var count: Int
  /// The age in milliseconds at which a value expires, or nil for no limit.
  public var ageMilliseconds: Int64?

  /// Creates limits; the defaults are unlimited. Negative numbers count as 0.
  public init(cost: Int = .max, count: Int = .max, ageMilliseconds: Int64? = nil) {
    self.cost = max(0, cost)
    self.count = max(0, count)
    self.ageMilliseconds = ageMilliseconds
  }
}
