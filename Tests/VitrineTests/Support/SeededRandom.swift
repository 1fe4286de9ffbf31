import Foundation

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Bytes that nothing compresses.
  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      withUnsafeBytes(of: next().littleEndian) { bytes.append(contentsOf: $0) }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

/// What the environment asks of random tests.
enum RandomRuns {
  /// The seed to repeat, from `VITRINE_SEED`.
  static let repeatedSeed = ProcessInfo.processInfo.environment["VITRINE_SEED"].flatMap { UInt64($0) }
  /// Nothing is sampled that can be tried in full: `VITRINE_EXHAUSTIVE=1`.
  static let isExhaustive = ProcessInfo.processInfo.environment["VITRINE_EXHAUSTIVE"] == "1"

  static func seeds(_ seeds: [UInt64]) -> [UInt64] { repeatedSeed.map { [$0] } ?? seeds }

  static func repeating(_ seed: UInt64, _ test: String) -> String {
    "repeat with: VITRINE_SEED=\(seed) swift test --filter \(test)"
  }
}
