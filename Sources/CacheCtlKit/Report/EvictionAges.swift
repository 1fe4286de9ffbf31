import Vitrine

/// The times between last use and eviction of the evicted entries.
package enum EvictionAges {
  /// Returns the classes from the first to the last that has entries. `bound` is the lowest number of seconds above a
  /// class; nil for the oldest class, which has no bound.
  package static func classes(_ statistics: StoreStatistics) -> [(bound: Int?, count: Int)] {
    let counts = statistics.evictedByAge
    guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 }) else {
      return []
    }
    return (first...last).map { index in
      (index == counts.count - 1 ? nil : 1 << (2 * index), counts[index])
    }
  }
}
