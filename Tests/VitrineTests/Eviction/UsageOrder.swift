import Testing

@testable import Vitrine

/// Who was used when, as a test did it: the yardstick for who may have gone.
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

  /// Nobody who is left was used longer ago than somebody who has gone. Forgets who has gone; answers who is left.
  mutating func expectOrder(_ store: CacheStore, styles: Int = 1, _ comment: Comment? = nil) -> Int {
    // Upkeep may evict while this looks; then it looks again.
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
