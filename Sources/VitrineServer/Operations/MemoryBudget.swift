import Synchronization

/// The memory that values of clients may take in a server, beyond the store's own. Thread-safe.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  let byteCount: Int

  init(_ byteCount: Int) { self.byteCount = byteCount }

  /// Returns a share, which ends with its last reference. Nil if the budget is used up. A single share may be larger than the
  /// budget.
  func take(_ count: Int) -> MemoryShare? {
    let total = used.wrappingAdd(count, ordering: .relaxed).newValue
    if total > byteCount, total > count {
      used.wrappingSubtract(count, ordering: .relaxed)
      return nil
    }
    return MemoryShare(self, count)
  }

  fileprivate func give(_ count: Int) { used.wrappingSubtract(count, ordering: .relaxed) }
}

/// A part of a ``MemoryBudget``, held as long as it is referenced.
final class MemoryShare: Sendable {
  private let budget: MemoryBudget?
  private let byteCount: Int

  /// A share without memory.
  static let empty = MemoryShare(nil, 0)

  fileprivate init(_ budget: MemoryBudget?, _ byteCount: Int) {
    self.budget = budget
    self.byteCount = byteCount
  }

  deinit { budget?.give(byteCount) }
}
