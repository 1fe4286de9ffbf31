import Testing

@testable import Vitrine

/// The estimate of the misses of caches of other sizes.
@Suite struct MissSampleTests {
  /// Follows every key, so that distances are exact.
  private let everyKey = UInt64.max

  /// An LRU cache of values.
  private struct Cache {
    let byteCapacity: Int
    var missCount = 0
    private var times: [Int: (used: Int, byteCount: Int)] = [:]
    private var order: [(key: Int, used: Int)] = []
    private var oldest = 0
    private var byteCount = 0
    private var now = 0

    init(byteCapacity: Int) { self.byteCapacity = byteCapacity }

    mutating func hasAfterRequest(_ key: Int, _ size: Int) -> Bool {
      now += 1
      let isHit = times[key] != nil
      if !isHit {
        missCount += 1
        byteCount += size
      }
      times[key] = (now, size)
      order.append((key, now))
      while byteCount > byteCapacity {
        let (key, used) = order[oldest]
        oldest += 1
        guard let entry = times[key], entry.used == used else { continue }
        times[key] = nil
        byteCount -= entry.byteCount
      }
      return isHit
    }
  }

  /// Returns the mean error of the estimates for seven sizes, from a store that is an LRU cache itself.
  private func meanError(
    objects: Int, requests: Int, power: Double, threshold: UInt64, byteCapacity: Int, seed: UInt64
  ) -> (error: Double, sample: MissSample) {
    var random = SeededRandom(seed: seed)
    let capacities = MissCurveRecord.eighths.map { byteCapacity / 8 * $0 }
    var caches = capacities.map { Cache(byteCapacity: $0) }
    var sample = MissSample(threshold: threshold)
    sample.farthestBytes = byteCapacity * 16
    for _ in 0..<requests {
      // The density of ranks falls with a power of the rank.
      let share = Double(random.below(1 << 30)) / Double(1 << 30)
      var rank = 1.0
      for _ in 0..<Int(power) { rank *= share }
      let object = min(objects - 1, Int(rank * Double(objects)))
      let size = 500 + object &* 7919 % 2000
      var keys = SeededRandom(seed: UInt64(object) &+ seed << 32)
      let hash = MissSample.mixed(KeyHash(bits: keys.next()))
      var isHit = false
      for index in caches.indices {
        let has = caches[index].hasAfterRequest(object, size)
        if index == 3 { isHit = has }
      }
      sample.noteRequest(hash, isHit ? .hit(byteCount: size) : .missing) { 0 }
      if !isHit { sample.notePut(hash, byteCount: size, due: nil) }
    }
    var sum = 0.0
    for (index, cache) in caches.enumerated() {
      let estimate = sample.missRatio(
        byteCapacity: capacities[index], keyCapacity: nil,
        lookups: (requests - caches[3].missCount, caches[3].missCount), isAtLeastPresent: index >= 3)
      sum += abs(estimate - Double(cache.missCount) / Double(requests))
    }
    return (sum / Double(caches.count), sample)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func estimatesOfASampleAreCloseToASimulation(_ seed: UInt64) {
    let (error, sample) = meanError(
      objects: 8000, requests: 40_000, power: 3, threshold: 1 << 61, byteCapacity: 2_000_000, seed: seed)
    #expect(error < 0.05, "\(error)")
    #expect(sample.threshold == 1 << 61 && sample.followedCount > 400)
  }

  /// Requests from before and after a fall of the threshold count alike.
  @Test func estimatesStayCloseWhenTheThresholdFalls() {
    let (error, sample) = meanError(
      objects: 30_000, requests: 50_000, power: 2, threshold: everyKey, byteCapacity: 8_000_000, seed: 4)
    #expect(error < 0.05, "\(error)")
    #expect(sample.threshold < everyKey / 4 * 3 + 1 && sample.followedCount > 5000)
  }

  @Test func sampleIsBounded() {
    var sample = MissSample(threshold: everyKey)
    var random = SeededRandom(seed: 1)
    for _ in 0..<40_000 { sample.notePut(random.next(), byteCount: 1 << 30, due: nil) }
    #expect(sample.followedCount <= 8192 && sample.followedCount > 4000)
    #expect(sample.memoryByteCount == 491_520)
    sample.removeAll()
    #expect(sample.followedCount == 0 && sample.memoryByteCount < 10_000)
  }

  /// A list of keys in the order of their uses, without a sample.
  private struct Model {
    var keys: [(hash: UInt64, byteCount: Int)] = []
    var hits: [(bytes: Int, keys: Int)?] = []
    var misses: [(bytes: Int, keys: Int)?] = []

    mutating func request(_ hash: UInt64, isHit: Bool, byteCount: Int) {
      var distance: (bytes: Int, keys: Int)?
      var size = byteCount
      let place = keys.firstIndex { $0.hash == hash }
      if let place {
        distance = (keys[place...].reduce(0) { $0 + $1.byteCount }, keys.count - place)
        if !isHit { size = keys[place].byteCount }
      }
      if isHit { hits.append(distance) } else { misses.append(distance) }
      if isHit || place != nil { put(hash, size) }
    }

    mutating func put(_ hash: UInt64, _ byteCount: Int) {
      remove(hash)
      keys.append((hash, byteCount))
    }

    mutating func remove(_ hash: UInt64) { keys.removeAll { $0.hash == hash } }

    func missRatio(bytes: Int, keys: Int) -> Double {
      func has(_ distance: (bytes: Int, keys: Int)?) -> (bytes: Bool, keys: Bool) {
        guard let distance else { return (false, false) }
        return (distance.bytes <= bytes, distance.keys <= keys)
      }
      func count(_ distances: [(bytes: Int, keys: Int)?]) -> Int {
        min(distances.count { has($0).bytes }, distances.count { has($0).keys })
      }
      let all = hits.count + misses.count
      return Double(all - count(hits) - count(misses)) / Double(all)
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func distancesAreThoseOfAListOfAllKeys(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var sample = MissSample(threshold: everyKey)
    var model = Model()
    for _ in 0..<3000 {
      let hash = UInt64(random.below(200)) &* 0x9E37_79B9_7F4A_7C15 >> 1
      let byteCount = 1 + random.below(5000)
      switch random.below(10) {
      case 0..<4:
        sample.noteRequest(hash, .hit(byteCount: byteCount)) { 0 }
        model.request(hash, isHit: true, byteCount: byteCount)
      case 4..<7:
        sample.noteRequest(hash, .missing) { 0 }
        model.request(hash, isHit: false, byteCount: 0)
      case 7..<9:
        sample.notePut(hash, byteCount: byteCount, due: nil)
        model.put(hash, byteCount)
      default:
        sample.remove(hash)
        model.remove(hash)
      }
    }
    #expect(sample.followedCount == model.keys.count)
    let lookups = (model.hits.count, model.misses.count)
    // At the end of a class of the histogram, the estimate is exact.
    for exponent in 8...22 {
      let bytes = (1 << exponent) - 1
      for keys in [1, 15, 63, 255] {
        let estimate = sample.missRatio(
          byteCapacity: bytes, keyCapacity: keys, lookups: lookups, isAtLeastPresent: false)
        let expected = model.missRatio(bytes: bytes, keys: keys)
        #expect(abs(estimate - expected) < 1e-9, "2^\(exponent), \(keys)")
      }
    }
  }

  /// The miss ratio of a cache that is larger than everything.
  private func missRatioWithoutLimit(_ sample: MissSample, misses: Int) -> Double {
    sample.missRatio(byteCapacity: 1 << 40, keyCapacity: nil, lookups: (0, misses), isAtLeastPresent: true)
  }

  @Test func evictedKeysWouldHitAndRemovedKeysWouldNot() {
    var sample = MissSample(threshold: everyKey)
    for hash in 1...10 as ClosedRange<UInt64> { sample.notePut(hash, byteCount: 100, due: nil) }
    for hash in 1...5 as ClosedRange<UInt64> { sample.noteRequest(hash, .missing) { 0 } }
    #expect(missRatioWithoutLimit(sample, misses: 5) == 0)
    sample.remove(6)
    sample.noteRequest(6, .missing) { 0 }
    sample.noteRequest(7, .outdated) { 0 }
    sample.noteRequest(7, .missing) { 0 }
    sample.noteRequest(99, .missing) { 0 }
    sample.noteRequest(99, .missing) { 0 }
    #expect(missRatioWithoutLimit(sample, misses: 10) == 0.5)
    #expect(sample.followedCount == 8)
  }

  @Test func expiredKeysWouldMissInEveryCache() {
    var sample = MissSample(threshold: everyKey)
    sample.notePut(1, byteCount: 100, due: 5000)
    sample.notePut(2, byteCount: 100, due: 50_000)
    sample.notePut(3, byteCount: 100, due: .max)
    sample.notePut(4, byteCount: 100, due: -1)
    for hash in 1...4 as ClosedRange<UInt64> { sample.noteRequest(hash, .missing) { 7000 } }
    #expect(missRatioWithoutLimit(sample, misses: 4) == 0.5)
    #expect(sample.followedCount == 2)
    // A hit shows that the entry got more time.
    sample.noteRequest(2, .hit(byteCount: 100)) { 60_000 }
    #expect(sample.followedCount == 2)
  }

  @Test func hitsOfUnknownKeysCountFromThePresentSizeOn() {
    var sample = MissSample(threshold: everyKey)
    for hash in 1...10 as ClosedRange<UInt64> { sample.noteRequest(hash, .hit(byteCount: 10)) { 0 } }
    func ratio(_ isAtLeastPresent: Bool) -> Double {
      sample.missRatio(
        byteCapacity: 1000, keyCapacity: nil, lookups: (10, 0), isAtLeastPresent: isAtLeastPresent)
    }
    #expect(ratio(true) == 0 && ratio(false) == 1)
    #expect(sample.knownRequestCount == 0)
  }

  @Test func keysUsedTooLongAgoAreForgotten() {
    var sample = MissSample(threshold: everyKey)
    sample.farthestBytes = 10_000
    for hash in 1...500 as ClosedRange<UInt64> { sample.notePut(hash, byteCount: 100, due: nil) }
    #expect(sample.followedCount == 100)
    sample.notePut(501, byteCount: 1 << 30, due: nil)
    #expect(sample.followedCount == 1)
  }

  @Test func keysAboveTheThresholdAreIgnored() {
    var sample = MissSample()
    let before = "\(sample)"
    sample.notePut(1 << 58, byteCount: 1, due: nil)
    sample.noteRequest(1 << 58, .hit(byteCount: 1)) { 0 }
    sample.noteRequest(.max, .missing) { 0 }
    sample.remove(.max)
    #expect("\(sample)" == before)
  }
}
