import VitrineSimulation

/// A generator that returns the same numbers for the same seed on every system.
typealias SeededRandom = SplitMix64

extension RandomNumberGenerator {
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
