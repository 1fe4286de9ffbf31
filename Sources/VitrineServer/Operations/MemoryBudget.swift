import Synchronization

/// A limit in bytes on the values that are in transfer, besides the store's own memory. Thread-safe.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  let byteCount: Int

  init(_ byteCount: Int) { self.byteCount = byteCount }

  /// The bytes of all shares.
  var usedByteCount: Int { used.load(ordering: .relaxed) }

  /// Takes a share, which lasts until its last reference is gone. Returns nil if the budget has too few bytes left. If
  /// no other share exists, a share may exceed the budget. `own` is the size of earlier shares of the same value, which
  /// do not count as others.
  func take(_ count: Int, besides own: Int = 0) -> MemoryShare? {
    let total = used.wrappingAdd(count, ordering: .relaxed).newValue
    if total > byteCount, total > own + count {
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
