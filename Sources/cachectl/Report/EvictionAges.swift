import Vitrine

/// How long before their eviction entries had last been used.
enum EvictionAges {
  /// From the first class that has something to the last one that has, each with the first number of seconds above it,
  /// nil for the one that has none.
  static func classes(_ statistics: StoreStatistics) -> [(bound: Int?, count: Int)] {
    let counts = statistics.evictedByAge
    guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 }) else {
      return []
    }
    return (first...last).map { index in
      (index == counts.count - 1 ? nil : 1 << (2 * index), counts[index])
    }
  }
}
