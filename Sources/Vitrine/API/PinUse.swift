/// The pinned entries of a store (``CacheStore/pin(_:durability:)``).
public struct PinUse: Sendable, Hashable {
  /// The number of pinned entries.
  public var entryCount: Int
  /// The bytes that gets of these entries return, and the heads of their records. A head has the URL, the metadata and
  /// about 150 bytes more.
  public var byteCount: Int
  /// The most entries that may be pinned: a quarter of the entry budget; nil if entries have no budget.
  public var mostEntries: Int?
  /// The most bytes that pinned entries may have together: a quarter of the byte budget.
  public var mostBytes: Int
}

extension PinUse {
  /// The largest sums of pinned entries in a store with these budgets.
  static func most(of identity: StoreIdentity) -> (entryCount: Int, byteCount: Int) {
    (identity.entryBudget == 0 ? .max : identity.entryBudget / 4, identity.byteBudget / 4)
  }
}

extension EntrySums {
  /// Returns the reason why pinned entries do not allow these budgets; nil if they do.
  func problem(of identity: StoreIdentity) -> String? {
    guard let sum = self[.pinned], sum.entryCount > 0 else { return nil }
    let most = PinUse.most(of: identity)
    if sum.byteCount > most.byteCount {
      return "pinned entries have \(sum.byteCount) bytes, more than a quarter of a budget of \(identity.byteBudget)"
    }
    if sum.entryCount > most.entryCount {
      return "\(sum.entryCount) entries are pinned, more than a quarter of a budget of \(identity.entryBudget) entries"
    }
    return nil
  }
}
