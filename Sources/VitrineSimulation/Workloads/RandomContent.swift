/// The sizes and bytes of the entries of workloads.
extension RandomNumberGenerator {
  /// Compressible with probability 1/3.
  mutating func bytes(_ count: Int, _ number: Int) -> [UInt8] {
    below(3) == 0
      ? (0..<count).map { UInt8(truncatingIfNeeded: ($0 / 9 + number) % 23) } : RecordedStore.bytes(count, number)
  }

  /// Mostly small sizes, some of several pages, rarely 0 or more than a frame of the log carries.
  mutating func size() -> Int {
    switch below(12) {
    case 0: below(3)
    case 1...6: below(1500)
    case 7...9: below(9000)
    case 10: below(40_000)
    default: 60_000 + below(60_000)
    }
  }
}
