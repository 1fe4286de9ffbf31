/// What a memory cache may hold.
public struct MemoryLimits: Sendable, Hashable {
  /// What the costs may sum up to, in bytes where the costs are: see ``MemoryCache``.
  public var cost: Int
  /// The most values.
  public var count: Int
  /// Milliseconds after which a value counts as gone; nil for never.
  public var ageMilliseconds: Int64?

  /// Makes limits; without arguments there are none. Negative numbers count as 0.
  public init(cost: Int = .max, count: Int = .max, ageMilliseconds: Int64? = nil) {
    self.cost = max(0, cost)
    self.count = max(0, count)
    self.ageMilliseconds = ageMilliseconds
  }
}
