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
    var newestGone = 0
    var oldestLeft = Int.max
    var left = 0
    for (key, use) in uses {
      let style = styles > 1 ? Style("s\(Int(key.dropFirst())! % styles)")! : .original
      if store.contains(key, style: style) {
        left += 1
        oldestLeft = min(oldestLeft, use)
      } else {
        newestGone = max(newestGone, use)
        uses[key] = nil
      }
    }
    #expect(newestGone < oldestLeft, comment)
    return left
  }
}
