/// The middle and the ends of repeated measurements.
struct Spread: Equatable {
  let median: Double
  let low: Double
  let high: Double

  /// Nil without values. The median of an even number of values is the mean of the two in the middle.
  init?(_ values: [Double]) {
    let sorted = values.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    low = first
    high = last
    let middle = sorted.count / 2
    median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
