import Foundation
import Testing
import Vitrine
import VitrineDataCache

/// Nuke's protocol, with its exact signatures.
public protocol DataCaching: Sendable {
  func cachedData(for key: String) -> Data?
  func containsData(for key: String) -> Bool
  func storeData(_ data: Data, for key: String)
  func removeData(for key: String)
  func removeAll()
}

extension VitrineDataCache: DataCaching {}

/// The behavior of Nuke's `DataCache`.
@Suite struct DataCacheTests {
  private let world = World()
  private let executor = ManualExecutor()

  /// A cache that writes only when the test says so.
  private func cache(
    limit: Int = 1 << 20, whenFull: VitrineDataCache.FullQueuePolicy = .wait
  ) throws -> VitrineDataCache {
    try VitrineDataCache(
      store: world.open(), queueByteLimit: limit, whenFull: whenFull, executor: executor.adding)
  }

  @Test func protocolOfNukeIsFulfilledByOneLine() throws {
    let cache: any DataCaching = try cache()
    cache.storeData(Data([1]), for: "a")
    #expect(cache.cachedData(for: "a") == Data([1]) && cache.containsData(for: "a"))
    cache.removeData(for: "a")
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a"))
    cache.storeData(Data([1]), for: "a")
    cache.removeAll()
    #expect(!cache.containsData(for: "a"))
  }

  @Test func queuedValueIsSeenBeforeItIsWritten() throws {
    let cache = try cache()
    cache.storeData(Data([1]), for: "a")
    #expect(cache.cachedData(for: "a") == Data([1]) && cache.store.bytes("a") == nil)
    cache.storeData(Data([2]), for: "a")
    #expect(cache.cachedData(for: "a") == Data([2]))
    executor.run()
    #expect(cache.store.bytes("a") == [2] && cache.cachedData(for: "a") == Data([2]) && cache.queuedByteCount == 0)
  }

  /// Swift takes these texts for equal, but their bytes differ.
  @Test func keysAreComparedByTheirBytes() throws {
    let cache = try cache()
    let keys = ["\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}", ""]
    for (index, key) in keys.enumerated() { cache.storeData(Data([UInt8(index)]), for: key) }
    for _ in 0..<2 {
      for (index, key) in keys.enumerated() { #expect(cache.cachedData(for: key) == Data([UInt8(index)])) }
      cache.flush()
    }
    #expect(cache.store.count == keys.count)
  }

  @Test func storingRetainsTheDataWithoutACopy() throws {
    let cache = try cache()
    let data = noise(100_000)
    cache.storeData(data, for: "a")
    let start = data.withUnsafeBytes { $0.baseAddress }
    #expect(cache.cachedData(for: "a")?.withUnsafeBytes { $0.baseAddress } == start)
  }

  @Test func queuedRemovalHidesTheStoredValue() throws {
    let cache = try cache()
    try cache.store.put([1], for: "a")
    cache.removeData(for: "a")
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a") && cache.store.contains("a"))
    cache.flush()
    #expect(!cache.store.contains("a"))
  }

  @Test func changesOfOneKeyReachTheStoreInTheirOrder() throws {
    let cache = try cache()
    for round in 0..<200 {
      cache.storeData(Data([UInt8(round)]), for: "a")
      cache.storeData(Data([UInt8(round)]), for: "\(round)")
      if round % 3 == 0 { cache.removeData(for: "a") }
    }
    cache.flush()
    #expect(cache.store.bytes("a") == [199] && cache.store.count == 201 && cache.queuedByteCount == 0)
  }

  @Test func removeAllDropsQueuedAndStoredValues() throws {
    let cache = try cache()
    try cache.store.put([1], for: "stored")
    cache.storeData(Data([2]), for: "queued")
    cache.removeAll()
    #expect(!cache.containsData(for: "stored") && !cache.containsData(for: "queued"))
    #expect(cache.cachedData(for: "stored") == nil && cache.store.contains("stored"))
    cache.storeData(Data([3]), for: "later")
    #expect(cache.cachedData(for: "later") == Data([3]))
    executor.run()
    #expect(cache.store.count == 1 && cache.cachedData(for: "later") == Data([3]))
  }

  @Test func changeDuringTheWriteOfAnOlderOneWins() throws {
    let cache = try cache()
    cache.storeData(Data([1]), for: "a")
    world.clock.atNextReading { cache.storeData(Data([2]), for: "a") }
    executor.run()
    #expect(cache.cachedData(for: "a") == Data([2]))
    cache.flush()
    #expect(cache.store.bytes("a") == [2] && cache.queuedByteCount == 0)
    cache.storeData(Data([3]), for: "a")
    world.clock.atNextReading { cache.removeData(for: "a") }
    cache.flush()
    #expect(cache.cachedData(for: "a") == nil)
    cache.flush()
    #expect(!cache.store.contains("a") && cache.queuedByteCount == 0)
  }

  @Test func removalOfAllDuringAWriteWins() throws {
    let cache = try cache()
    cache.storeData(Data([1]), for: "a")
    world.clock.atNextReading {
      cache.removeAll()
      cache.storeData(Data([2]), for: "b")
    }
    executor.run()
    #expect(cache.cachedData(for: "a") == nil && cache.cachedData(for: "b") == Data([2]))
    cache.flush()
    #expect(cache.store.count == 1 && cache.cachedData(for: "b") == Data([2]) && cache.queuedByteCount == 0)
  }

  @Test func flushOfAKeyWritesItAndTheOlderOnes() throws {
    let cache = try cache()
    for key in ["a", "b", "c"] { cache.storeData(Data(key.utf8), for: key) }
    cache.flush(for: "b")
    #expect(cache.store.contains("a") && cache.store.contains("b") && !cache.store.contains("c"))
    cache.flush(for: "none")
    #expect(!cache.store.contains("c"))
  }

  @Test func fullQueueIsWrittenByTheStoringThread() throws {
    let cache = try cache(limit: 10_000)
    for number in 0..<50 { cache.storeData(noise(1000, seed: UInt64(number)), for: "\(number)") }
    #expect(cache.queuedByteCount <= 10_000 && cache.store.count >= 40)
    #expect((0..<50).allSatisfy { cache.cachedData(for: "\($0)") == noise(1000, seed: UInt64($0)) })
    // The oldest changes were written first.
    #expect(cache.store.contains("0") && !cache.store.contains("49"))
  }

  @Test func emptyQueueTakesAValueAboveItsLimit() throws {
    for policy in [VitrineDataCache.FullQueuePolicy.wait, .dropNewest] {
      let executor = ManualExecutor()
      let world = World()
      let cache = VitrineDataCache(
        store: try world.open(), queueByteLimit: 1000, whenFull: policy, executor: executor.adding)
      cache.storeData(noise(5000), for: "a")
      #expect(cache.cachedData(for: "a") == noise(5000))
      cache.storeData(noise(6000), for: "a")
      #expect(cache.cachedData(for: "a") == noise(6000))
      executor.run()
      #expect(cache.store.bytes("a") == Array(noise(6000)))
    }
  }

  @Test func fullQueueDropsTheNewestValueWithItsOlderOne() throws {
    let cache = try cache(limit: 2000, whenFull: .dropNewest)
    try cache.store.put([1], for: "stored")
    cache.storeData(noise(1500), for: "a")
    cache.storeData(noise(1500), for: "b")
    cache.storeData(noise(1500), for: "stored")
    #expect(cache.cachedData(for: "a") == noise(1500) && cache.cachedData(for: "b") == nil)
    #expect(cache.cachedData(for: "stored") == nil && !cache.containsData(for: "stored"))
    executor.run()
    #expect(cache.store.count == 1 && cache.store.contains("a"))
  }

  @Test func removalsEnterAFullQueue() throws {
    let cache = try cache(limit: 2000, whenFull: .dropNewest)
    for number in 0..<100 { try cache.store.put([1], for: "\(number)") }
    for number in 0..<100 { cache.removeData(for: "\(number)") }
    #expect(cache.queuedByteCount <= 2000 && (0..<100).allSatisfy { !cache.containsData(for: "\($0)") })
    cache.flush()
    #expect(cache.store.count == 0)
  }

  @Test func valueThatTheStoreRefusesIsAMiss() throws {
    let cache = try cache(limit: 64 << 20)
    cache.storeData(Data([1]), for: "a")
    cache.flush()
    cache.storeData(noise(5 << 20), for: "a")
    cache.storeData(Data([1]), for: String(repeating: "k", count: 70_000))
    cache.flush()
    #expect(cache.cachedData(for: "a") == nil && !cache.containsData(for: "a") && cache.queuedByteCount == 0)
  }

  @Test func oneCallOfTheWriterIsDueForManyChanges() throws {
    let cache = try cache()
    for number in 0..<100 { cache.storeData(Data([1]), for: "\(number)") }
    #expect(executor.count == 1)
    executor.run()
    cache.storeData(Data([1]), for: "a")
    #expect(executor.count == 1 && cache.store.count == 100)
  }

  @Test func backgroundThreadWritesWithoutAFlush() throws {
    let (thread, work) = (DispatchQueue(label: "test"), DispatchGroup())
    let cache = VitrineDataCache(store: try world.open(), queueByteLimit: 1 << 20, whenFull: .wait) { body in
      thread.async(group: work, execute: body)
    }
    for number in 0..<50 { cache.storeData(Data([UInt8(number)]), for: "\(number)") }
    work.wait()
    #expect(cache.store.count == 50 && cache.queuedByteCount == 0)
  }

  @Test func queuedValuesOutliveTheReleaseOfTheCache() throws {
    let store = try world.open()
    do {
      let cache = VitrineDataCache(store: store, queueByteLimit: 1 << 20, whenFull: .wait, executor: executor.adding)
      cache.storeData(Data([1]), for: "a")
    }
    executor.run()
    #expect(store.bytes("a") == [1])
  }

  @Test func subscriptStoresAndRemoves() throws {
    let cache = try cache()
    cache["a"] = Data([1])
    #expect(cache["a"] == Data([1]))
    cache["a"] = nil
    #expect(cache["a"] == nil)
  }

  @Test func valuesExpireAfterTheirTimeToLive() throws {
    let store = try world.open(StoreOptions(byteBudget: 4 << 20, maximumAgeMilliseconds: 1000))
    let cache = VitrineDataCache(store: store)
    cache.storeData(Data([1]), for: "a")
    cache.flush()
    world.clock.advance(999)
    #expect(cache.containsData(for: "a"))
    world.clock.advance(1)
    #expect(!cache.containsData(for: "a") && cache.cachedData(for: "a") == nil)
    #expect(cache.sweep() == 1 && cache.totalCount == 0 && cache.sweep() == 0)
  }

  @Test func sizeStaysWithinTheLimit() throws {
    let cache = try VitrineDataCache(path: world.path, sizeLimit: 1 << 20)
    for number in 0..<100 { cache.storeData(noise(50_000, seed: UInt64(number)), for: "\(number)") }
    cache.flush()
    #expect(cache.totalAllocatedSize <= 1 << 20 && cache.sizeLimit == 1 << 20)
    #expect(cache.totalCount > 0 && cache.totalCount < 100 && cache.totalSize == cache.totalCount * 50_000)
    #expect(cache.containsData(for: "99"))
    try cache.setSizeLimit(2 << 20)
    #expect(cache.sizeLimit == 2 << 20)
    try cache.close()
  }

  @Test func valuesSurviveClosing() throws {
    let first = try VitrineDataCache(path: world.path, sizeLimit: 1 << 20, timeToLive: .seconds(3600))
    first.storeData(Data([1]), for: "a")
    try first.close()
    first.storeData(Data([2]), for: "b")
    first.flush()
    #expect(first.cachedData(for: "b") == nil)
    let second = try VitrineDataCache(path: world.path, sizeLimit: 1 << 20)
    #expect(second.cachedData(for: "a") == Data([1]) && !second.containsData(for: "b"))
    try second.close()
  }

  /// Each thread has its own keys and reads each change at once, while the others and the writer go on.
  @Test func concurrentThreadsSeeTheirOwnChanges() throws {
    let cache = VitrineDataCache(store: try world.open(), queueByteLimit: 20_000)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<200 {
        let key = "\(thread)/\(round % 10)"
        let data = Data("\(thread) \(round)".utf8)
        cache.storeData(data, for: key)
        #expect(cache.cachedData(for: key) == data)
        if round % 7 == 0 {
          cache.removeData(for: key)
          #expect(cache.cachedData(for: key) == nil && !cache.containsData(for: key))
        }
        if round % 50 == 0 { cache.flush() }
      }
    }
    cache.flush()
    // Round 196 removed the last value of key 6.
    for thread in 0..<4 {
      for number in 190..<200 {
        let expected = number % 7 == 0 ? nil : Data("\(thread) \(number)".utf8)
        #expect(cache.cachedData(for: "\(thread)/\(number % 10)") == expected)
      }
    }
    #expect(cache.queuedByteCount == 0)
  }
}
