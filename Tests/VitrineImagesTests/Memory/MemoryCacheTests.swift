import Foundation
import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct MemoryCacheTests {
  typealias Cache = MemoryCache<String, Int>

  @Test func leastRecentlyUsedValueIsEvictedFirst() {
    let cache = Cache(limits: .init(cost: 30))
    for (number, key) in ["a", "b", "c"].enumerated() { #expect(cache.insert(number, for: key, cost: 10)) }
    #expect(cache["a"] == 0)
    #expect(cache.insert(3, for: "d", cost: 10))
    #expect(cache["b"] == nil && cache["a"] == 0 && cache["c"] == 2 && cache["d"] == 3)
    #expect(cache.totalCost == 30 && cache.count == 3)
  }

  @Test func neitherLimitIsEverExceeded() {
    var random = SeededRandom(seed: 1)
    let cache = Cache(limits: .init(cost: 1000, count: 20))
    var costs: [String: Int] = [:]
    for _ in 0..<5000 {
      let key = "k\(UInt8.random(in: 0..<60, using: &random))"
      switch Int.random(in: 0..<10, using: &random) {
      case 0: cache.remove(key)
      case 1...4: _ = cache[key]
      default:
        costs[key] = Int.random(in: 0...400, using: &random)
        #expect(cache.insert(costs[key]!, for: key, cost: costs[key]!))
        #expect(cache[key] == costs[key])
      }
      #expect(cache.totalCost <= 1000 && cache.count <= 20)
      let there = costs.filter { cache[$0.key] != nil }
      #expect(there.count == cache.count && there.values.reduce(0, +) == cache.totalCost)
    }
  }

  @Test func valueAboveTheLimitIsRefusedAndTheOldOneRemoved() {
    let cache = Cache(limits: .init(cost: 10))
    #expect(cache.insert(1, for: "a", cost: 10))
    #expect(!cache.insert(2, for: "a", cost: 11))
    #expect(cache["a"] == nil && cache.totalCost == 0 && cache.count == 0)
    #expect(!Cache(limits: .init(count: 0)).insert(1, for: "a"))
  }

  @Test func valueBeyondTheAgeLimitIsAMiss() {
    let time = Locked<Int64>(0)
    let cache = Cache(limits: .init(ageMilliseconds: 100)) { time.withLock { $0 } }
    cache.insert(1, for: "a")
    time.withLock { $0 = 99 }
    #expect(cache["a"] == 1)
    time.withLock { $0 = 100 }
    #expect(cache["a"] == nil && cache.count == 0)
  }

  @Test func smallerLimitsHoldAtOnce() {
    let cache = Cache(limits: .init())
    for number in 0..<10 { cache.insert(number, for: "\(number)", cost: 5) }
    cache.limits = .init(cost: 20)
    #expect(cache.totalCost == 20 && (0..<6).allSatisfy { cache["\($0)"] == nil } && cache["6"] == 6)
    cache.trim(toCostShare: 0.5)
    #expect(cache.totalCost == 10)
    cache.removeAll { $0 == "9" }
    #expect(cache["9"] == nil && cache.count == 1)
    cache.removeAll()
    #expect(cache.count == 0 && cache.totalCost == 0)
    cache.insert(1, for: "again", cost: 20)
    #expect(cache["again"] == 1)
  }

  @Test func anyShareOfAnyCostIsTaken() {
    let cache = MemoryCache<String, Int>(limits: .init(cost: .max))
    cache.insert(1, for: "all", cost: .max)
    for share in [1, 7, .infinity] {
      cache.trim(toCostShare: share)
      #expect(cache["all"] == 1)
    }
    cache.trim(toCostShare: 1 - 0x1p-53)
    #expect(cache.count == 0)
  }

  /// The deinitializer of a value may do anything, such as use the cache.
  @Test func evictedValuesAreReleasedOutsideTheLock() {
    final class Asking: Sendable {
      let ask: @Sendable () -> Void
      init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }
      deinit { ask() }
    }
    let cache = MemoryCache<Int, Asking>(limits: .init(count: 1))
    let asked = Locked(0)
    for number in 0..<3 {
      cache.insert(
        Asking { [weak cache] in
          _ = cache?[0]
          asked.withLock { $0 += 1 }
        }, for: number)
    }
    cache.insert(Asking {}, for: 2)
    cache.limits = .init(count: 0)
    #expect(asked.withLock { $0 } == 3)
  }

  /// Counts its living instances, and their maximum.
  private final class Counted: Sendable {
    private let alive: Locked<(now: Int, most: Int)>

    init(_ alive: Locked<(now: Int, most: Int)>) {
      self.alive = alive
      alive.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
    }

    deinit { alive.withLock { $0.now -= 1 } }
  }

  /// Evicted values are freed before a new value is in the cache, so only the cached values and the new one are alive.
  @Test func noMoreValuesAreAliveThanTheLimitAllows() {
    let alive = Locked((now: 0, most: 0))
    let cache = MemoryCache<Int, Counted>(limits: .init(cost: 20, count: 10))
    var random = SeededRandom(seed: 9)
    for _ in 0..<3000 {
      // Counted after the insertion, which makes room first.
      cache.insert(Counted(alive), for: random.below(40), cost: 1 + random.below(4))
      #expect(alive.withLock { $0.now } == cache.count && cache.count <= 10 && cache.totalCost <= 20)
    }
    #expect(alive.withLock { $0.most } <= 11)
    cache.removeAll()
    #expect(alive.withLock { $0.now } == 0)
  }

  @Test func concurrentThreadsDoNotExceedTheLimits() async {
    let alive = Locked((now: 0, most: 0))
    let cache = MemoryCache<Int, Counted>(limits: .init(cost: 20, count: 10))
    let above = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(worker))
          for _ in 0..<1500 {
            let key = random.below(40)
            cache.insert(Counted(alive), for: key, cost: 1 + random.below(4))
            if random.below(8) == 0 { cache.remove(key) }
            if cache.totalCost > 20 || cache.count > 10 { above.withLock { $0 += 1 } }
          }
        }
      }
    }
    #expect(above.withLock { $0 } == 0)
    #expect(alive.withLock { $0.now } == cache.count)
  }

  @Test func mappedBitmapCostsItsPages() async throws {
    let own = Bitmap.gradient(10, 10)
    #expect(own.memoryCost == own.layout.byteCount)
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let mapped = try await bench.pipeline().image(for: PictureRequest("a", style: .square(40))).bitmap
    #expect(mapped.isMapped && mapped.memoryCost % 4096 == 0)
    #expect((mapped.layout.byteCount...mapped.layout.byteCount + 2 * 4096).contains(mapped.memoryCost))
    try bench.end()
  }
}
