/// Durations in classes a sixteenth of an octave wide: a percentile is accurate to about 5 %. Adding one is O(1) and
/// allocates nothing. A value, so each thread fills its own, and one thread adds them.
public struct LatencyHistogram: Sendable {
  private static let perOctave = 16
  private var counts = [Int](repeating: 0, count: 48 * perOctave)
  /// The number of durations.
  public private(set) var count = 0
  /// The longest duration in nanoseconds, exactly; 0 if there is none.
  public private(set) var longest: UInt64 = 0

  /// A histogram without durations.
  public init() {}

  /// Adds a duration. One below 16 ns counts as 16 ns.
  public mutating func add(_ nanoseconds: UInt64) {
    let value = max(nanoseconds, 16)
    let octave = 63 - value.leadingZeroBitCount
    let index = octave * LatencyHistogram.perOctave + Int(value >> (UInt64(octave) - 4) & 15)
    counts[min(index, counts.count - 1)] += 1
    count += 1
    longest = max(longest, nanoseconds)
  }

  /// Adds the durations of another histogram.
  public mutating func add(_ other: LatencyHistogram) {
    for index in counts.indices { counts[index] += other.counts[index] }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// The middle of the class that the given share of durations does not exceed, in nanoseconds; 0 without durations.
  public func percentile(_ share: Double) -> Double {
    var left = Int((Double(count) * share).rounded(.up))
    for (index, count) in counts.enumerated() where count > 0 {
      left -= count
      if left <= 0 {
        let (octave, part) = index.quotientAndRemainder(dividingBy: LatencyHistogram.perOctave)
        return Double(1 << octave) * (1 + (Double(part) + 0.5) / Double(LatencyHistogram.perOctave))
      }
    }
    return 0
  }
}
