/// The budget of a style, and the sums of its entries.
public struct StyleUse: Sendable, Hashable {
  /// The style.
  public var style: Style
  /// Its budget.
  public var budget: StyleBudget
  /// The number of its entries. Two styles whose 16-bit hashes are equal share one budget and are counted together,
  /// which happens to one pair in 65,536.
  public var entryCount: Int
  /// The sum of the bytes that gets of these entries return.
  public var byteCount: Int
}
