import Testing

@testable import Vitrine

/// The uses of entries as a test made them: the reference for the order of evictions.
struct UsageOrder {
  private var uses: [String: Int] = [:]
  private var clock = 0
  let countsHits: Bool

  init(countsHits: Bool = true) { self.countsHits = countsHits }

  mutating func put(_ key: String) {
    clock += 1
    uses[key] = clock
  }

  mutating func hit(_ key: String) { if countsHits { put(key) } }

  mutating func forget(_ key: String) { uses[key] = nil }

  var keys: [String] { Array(uses.keys) }

  /// Expects that no remaining entry was used longer ago than an evicted one. Forgets the evicted ones; returns the
  /// number of the others.
  mutating func expectOrder(_ store: CacheStore, styles: Int = 1, _ comment: Comment? = nil) -> Int {
    // Upkeep may evict meanwhile; then this starts again.
    var present: Set<String> = []
    var evictedCount = -1
    while evictedCount != store.statistics().evictedCount {
      evictedCount = store.statistics().evictedCount
      present = Set(
        uses.keys.filter { key in
          store.contains(key, style: styles > 1 ? Style("s\(Int(key.dropFirst())! % styles)")! : .original)
        })
    }
    let newestGone = uses.filter { !present.contains($0.key) }.map(\.value).max() ?? 0
    let oldestLeft = uses.filter { present.contains($0.key) }.map(\.value).min() ?? .max
    #expect(newestGone < oldestLeft, comment)
    uses = uses.filter { present.contains($0.key) }
    return present.count
  }
}
