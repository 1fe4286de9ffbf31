import CacheCtlKit

/// The middle and the ends of repeated measurements.
struct Spread: Equatable {
  let median: Double
  let low: Double
  let high: Double

  /// Returns nil without values.
  init?(_ values: [Double]) {
    guard let low = values.min(), let high = values.max() else { return nil }
    self.low = low
    self.high = high
    median = CacheCtlKit.median(values)
  }
}
