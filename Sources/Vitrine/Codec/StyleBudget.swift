/// The most that all entries of one style may take together.
///
/// A put that would exceed it first evicts the least recently used entries of its style; under `fifo`, those put first.
/// Entries of other styles stay.
public struct StyleBudget: Sendable, Hashable {
  /// The sum of the bytes that gets of these entries return; nil for no limit. An image that entries of several styles
  /// share counts in full for each of them.
  public var byteCount: Int?
  /// The number of entries; nil for no limit.
  public var count: Int?

  /// Makes a budget. The call that sets it checks the values: at least one limit, and each at least 1.
  public init(byteCount: Int? = nil, count: Int? = nil) {
    self.byteCount = byteCount
    self.count = count
  }
}
