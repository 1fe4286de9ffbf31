/// Two numbers mixed into one; every bit of the result depends on every bit of both (the finalizer of SplitMix64).
///
/// Decisions about a change are drawn from its index this way, and not from a running generator. So they depend neither
/// on the order of a dictionary nor on the other files of the disk.
@inline(__always)
func mixed(_ first: UInt64, _ second: UInt64) -> UInt64 {
  var state = first &+ 0x9E37_79B9_7F4A_7C15 &* (second &+ 1)
  state = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
  state = (state ^ (state >> 27)) &* 0x94D0_49BB_1331_11EB
  return state ^ (state >> 31)
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mixed(state &- 0x9E37_79B9_7F4A_7C15, 0)
  }

  /// A number in `0..<bound`; 0 for a bound that is not positive.
  package mutating func next(below bound: Int) -> Int {
    bound > 0 ? Int(next() % UInt64(bound)) : 0
  }
}

extension RandomNumberGenerator {
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
