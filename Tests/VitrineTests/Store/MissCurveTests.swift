import Testing

@testable import Vitrine

/// The miss-ratio curve of a store.
@Suite struct MissCurveTests {
  private let disk = MemoryDisk()
  private let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// Gets of 4,000 keys, the lower ones more often, with a put after each miss.
  private func use(_ store: CacheStore, requests: Int, seed: UInt64 = 1) throws {
    var random = SeededRandom(seed: seed)
    let values = noise(300)
    for _ in 0..<requests {
      let number = min(random.below(4000), random.below(4000))
      let key = CacheKey("k\(number)")
      if store.blob(key) == nil {
        try store.put(Array(values[..<(100 + number % 200)]) + Array("\(number)".utf8), for: key)
      }
    }
  }

  @Test func curveReachesReadersAndLaterOpenings() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    try use(store, requests: 3000)
    #expect(store.statistics().missCurve == nil)
    try use(store, requests: 37_000, seed: 2)
    world.background.run()
    let curve = try #require(store.statistics().missCurve)
    let budget = 2 << 20
    #expect(curve.byteBudget == budget && curve.requestCount == 40_000)
    let budgets = [1, 2, 4, 8, 16, 32, 64].map { budget / 8 * $0 }
    #expect(curve.points.map(\.byteBudget) == budgets)
    let hitRatio = store.statistics().hitRatio
    #expect(abs(curve.missRatio + hitRatio - 1) < 1e-9)
    let ratios = curve.points.map(\.missRatio)
    #expect(ratios == ratios.sorted(by: >))
    // All values fit, so only first requests miss; an eighth of the budget has room for few of the keys.
    #expect(abs(curve.points[3].missRatio - curve.missRatio) < 0.03, "\(curve)")
    #expect(curve.points[0].missRatio > curve.missRatio + 0.2, "\(curve)")
    let reader = try world.openReadOnly("store")
    // The round of upkeep may have changed the bytes on the disk after it published the counters.
    #expect(reader.statistics().missCurve == store.probe.publishedCounters.curve.curve)
    #expect(reader.statistics().missCurve?.requestCount == 40_000)
    // Its gets change no curve.
    for number in 0..<1000 { _ = reader["k\(number)"] }
    #expect(reader.probe.misses.withSample(byteBudget: 1) { $0.followedCount } == 0)
    try reader.close()
    try store.close()
    let last = try world.openReadOnly("store").statistics().missCurve
    #expect(last?.requestCount == 40_000)
    // A new opening has no curve of its own yet.
    let again = try world.open("store", StoreOptions())
    _ = again["k1"]
    #expect(again.statistics().missCurve == last)
    try again.close()
  }

  @Test func getOfAnUnsampledKeyTouchesNoSample() throws {
    let store = try world.open("store")
    for number in 0..<400 { try store.put(noise(100, UInt64(number)), for: CacheKey("k\(number)")) }
    let sampler = store.probe.misses
    func state() -> String { sampler.withSample(byteBudget: 4 << 20) { "\($0)" } }
    func isSampled(_ key: CacheKey) -> Bool { store.probe.isSampled(key) }
    let keys = (0..<600).map { CacheKey("k\($0)") }
    #expect(keys.contains(where: isSampled) && keys.contains { !isSampled($0) })
    let before = state()
    for key in keys where !isSampled(key) { _ = store.blob(key) }
    store.getMany(keys.filter { !isSampled($0) }) { _, _ in }
    #expect(state() == before)
    for key in keys where isSampled(key) {
      let before = state()
      _ = store.blob(key)
      #expect(state() != before)
    }
  }

  @Test func removedKeysLeaveTheSample() throws {
    let store = try world.open("store")
    func followedCount() -> Int { store.probe.misses.withSample(byteBudget: 4 << 20) { $0.followedCount } }
    let keys = (0..<1600).map { CacheKey("k\($0)") }
    let sampled = keys.filter { store.probe.isSampled($0) }
    for key in keys { try store.put([1], for: key) }
    #expect(followedCount() == sampled.count && sampled.count > 10)
    try store.remove(sampled[0])
    try store.removeMany([sampled[1], sampled[2]])
    #expect(followedCount() == sampled.count - 3)
    try store.removeAllStyles(sampled[3].urlText)
    #expect(followedCount() == sampled.count - 4)
    try store.removeAll()
    #expect(followedCount() == 0)
    // A batch, and a value that expires.
    var batch = WriteBatch()
    batch.put([2], for: sampled[0])
    try store.write(batch)
    let soon = world.clock.wallMilliseconds() + 1000
    try store.put([2], for: sampled[1], options: PutOptions(expirationMilliseconds: soon))
    #expect(followedCount() == 2)
    world.clock.advance(5000)
    #expect(store.blob(sampled[0]) != nil && store.blob(sampled[1]) == nil)
    #expect(followedCount() == 1)
    try store.close()
  }
}
