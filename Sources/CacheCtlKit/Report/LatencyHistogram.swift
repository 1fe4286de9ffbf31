/// Durations in classes a sixteenth of an octave wide: a percentile is accurate to about 5 %.
public struct LatencyHistogram: Sendable {
  private static let perOctave = 16
  private var counts = [Int](repeating: 0, count: 48 * perOctave)
  public private(set) var count = 0
  public private(set) var longest: UInt64 = 0

  public init() {}

  public mutating func add(_ nanoseconds: UInt64) {
    let value = max(nanoseconds, 16)
    let octave = 63 - value.leadingZeroBitCount
    let index = octave * LatencyHistogram.perOctave + Int(value >> (UInt64(octave) - 4) & 15)
    counts[min(index, counts.count - 1)] += 1
    count += 1
    longest = max(longest, nanoseconds)
  }

  public mutating func add(_ other: LatencyHistogram) {
    for index in counts.indices { counts[index] += other.counts[index] }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// The nanoseconds that no more than the given share exceeded; 0 if there are no samples.
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
