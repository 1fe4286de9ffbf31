/// Numbers without visible order, the same in each run.
enum Scatter {
  /// A permutation of all 64-bit numbers (the finalizer of SplitMix64).
  @inline(__always)
  static func mix(_ number: UInt64) -> UInt64 {
    var value = number &+ 0x9E37_79B9_7F4A_7C15
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}

/// A generator of fast, reproducible random numbers.
struct Random {
  private var state: UInt64

  init(_ seed: Int) { state = Scatter.mix(UInt64(truncatingIfNeeded: seed)) | 1 }

  @inline(__always)
  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 0x2545_F491_4F6C_DD1D
  }

  /// A number from 0 to `count - 1`.
  @inline(__always)
  mutating func index(_ count: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(count)).high) }

  /// A number from 0 to 1, without 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
