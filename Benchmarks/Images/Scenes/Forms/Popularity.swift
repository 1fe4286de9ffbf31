import Foundation
import VitrineSimulation

/// Draws items by Zipf's law: the n-th item is drawn 1/n as often as the first.
struct Popularity {
  /// For each item, the sum of the weights up to it.
  private let sums: [Double]

  init(count: Int) {
    var sum = 0.0
    sums = (1...max(1, count)).map { rank in
      sum += 1 / Double(rank)
      return sum
    }
  }

  /// Draws `count` items, as their numbers. The same seed gives the same items.
  func draw(_ count: Int, seed: UInt64) -> [Int] {
    var random = SplitMix64(seed: seed &+ 29)
    return (0..<count).map { _ in
      let wanted = Double(random.next() >> 11) / Double(1 << 53) * sums[sums.count - 1]
      return sums.firstIndex { $0 > wanted } ?? sums.count - 1
    }
  }
}
