import Foundation
import Testing
import Vitrine
import VitrineDataCache

/// A data cache against a dictionary, under random calls and random progress of its writer.
@Suite struct DataCacheModelTests {
  /// Splitmix64: the same numbers in every run.
  private struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
      return z ^ z >> 31
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func readsReturnTheLastChangeOfEachKey(_ seed: UInt64) throws {
    var random = SeededNumbers(state: seed)
    let world = World()
    let executor = ManualExecutor()
    let cache = VitrineDataCache(
      store: try world.open(), queueByteLimit: 3000, whenFull: .wait, executor: executor.adding)
    var model: [String: Data] = [:]
    for step in 0..<400 {
      let key = "\(Int.random(in: 0..<12, using: &random))"
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<50:
        let data = Data("\(step)".utf8) + noise(Int.random(in: 0..<600, using: &random), seed: seed)
        cache.storeData(data, for: key)
        model[key] = data
      case 50..<70:
        cache.removeData(for: key)
        model[key] = nil
      case 70..<75:
        cache.removeAll()
        model = [:]
      case 75..<80: cache.flush()
      case 80..<90: cache.flush(for: key)
      default: executor.run()
      }
      for number in 0..<12 {
        let expected = model["\(number)"]
        #expect(cache.cachedData(for: "\(number)") == expected, "seed \(seed), step \(step), key \(number)")
        #expect(cache.containsData(for: "\(number)") == (expected != nil), "seed \(seed), step \(step), key \(number)")
      }
      #expect(cache.queuedByteCount <= 3000, "seed \(seed), step \(step)")
    }
    cache.flush()
    #expect(cache.queuedByteCount == 0 && cache.store.count == model.count, "seed \(seed)")
    for (key, data) in model { #expect(cache.store.bytes(key) == Array(data), "seed \(seed), key \(key)") }
  }
}
