import Foundation
import VitrineSimulation

/// A generator with the same numbers for the same seed on all systems.
typealias SeededRandom = SplitMix64

extension SplitMix64 {
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Incompressible bytes.
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

/// Settings of random tests from the environment.
enum RandomRuns {
  /// The seed to repeat, from `VITRINE_SEED`.
  static let repeatedSeed = ProcessInfo.processInfo.environment["VITRINE_SEED"].flatMap { UInt64($0) }
  /// `VITRINE_EXHAUSTIVE=1`: everything that can be tried in full is, without sampling.
  static let isExhaustive = ProcessInfo.processInfo.environment["VITRINE_EXHAUSTIVE"] == "1"

  /// The findings of sanitizers depend on the executed code and hardly on the bytes, and each case takes twenty
  /// times as long.
  static let isSanitized = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] != nil

  /// Under a sanitizer an eighth of a number of cases.
  static func share(of count: Int) -> Int { isSanitized ? max(1, count / 8) : count }

  static func seeds(_ seeds: [UInt64]) -> [UInt64] {
    repeatedSeed.map { [$0] } ?? Array(seeds.prefix(share(of: seeds.count)))
  }

  static func repeating(_ seed: UInt64, _ test: String) -> String {
    "repeat with: VITRINE_SEED=\(seed) swift test --filter \(test)"
  }
}
