import FuzzSupport

@testable import VitrineSimulation

/// Sequences drawn at random, the same at each run: every operation comes often.
enum OperationSeeds {
  static func all() -> [[UInt8]] {
    (0..<96).map { number in
      var random = SplitMix64(seed: UInt64(number))
      var bytes = [UInt8(truncatingIfNeeded: number &* 11)]
      let preferred: [Operation] = [.put, .put, .putBitmap, .batch, .draw, .body]
      for _ in 0..<(8 + number % 24) {
        let operation =
          random.next(below: 3) == 0
          ? preferred[random.next(below: preferred.count)]
          : Operation.allCases[random.next(below: Operation.allCases.count)]
        bytes.append(operation.rawValue)
        for _ in 0..<(operation == .batch ? 14 : 4) { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
      }
      return bytes
    }
  }
}
