import Foundation
import Testing

@testable import Vitrine

@Suite struct ConditionalPutTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let key = CacheKey("a")

  init() { world = TestWorld(fileSystem: disk) }

  private func digest(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { Digest(of: $0) } }

  /// Runs `body` once, on another thread, when the next record is about to be written to a segment.
  private func beforeTheNextRecord(_ body: @escaping @Sendable () -> Void) {
    disk.onWrite.withLock { handler in
      handler = { [disk] path, offset in
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        // The handler keeps a reference to the disk.
        disk.onWrite.withLock { $0 = nil }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          body()
          done.signal()
        }
        done.wait()
      }
    }
  }

  @Test func absentEntryIsPutOnce() throws {
    let store = try world.open("store")
    #expect(try store.put([1], for: key, if: .absent))
    #expect(try !store.put([2], for: key, if: .absent))
    #expect(store["a"] == [1])
    try store.remove(key)
    #expect(try store.put([3], for: key, if: .absent))
    #expect(store["a"] == [3])
    try store.close()
  }

  @Test func presentEntryIsReplaced() throws {
    let store = try world.open("store")
    #expect(try !store.put([1], for: key, if: .present))
    #expect(store["a"] == nil)
    try store.put([1], for: key)
    #expect(try store.put([2], for: key, if: .present))
    #expect(store["a"] == [2])
    try store.close()
  }

  @Test func entryWithTheDigestIsReplaced() throws {
    let store = try world.open("store")
    #expect(try !store.put([1], for: key, if: .digest(digest([1]))))
    try store.put(text(5000), for: key)
    #expect(try !store.put([1], for: key, if: .digest(digest([1]))))
    #expect(try store.put([2], for: key, if: .digest(digest(text(5000)))))
    #expect(store["a"] == [2])
    try store.close()
  }

  @Test func expiredEntryCountsAsAbsent() throws {
    let store = try world.open("store")
    let soon = world.clock.wallMilliseconds() + 1000
    try store.put([1], for: key, options: PutOptions(expirationMilliseconds: soon))
    #expect(try !store.put([2], for: key, if: .absent))
    world.clock.advance(1000)
    #expect(try !store.put([2], for: key, if: .present))
    #expect(try !store.put([2], for: key, if: .digest(digest([1]))))
    #expect(try store.put([2], for: key, if: .absent))
    #expect(store["a"] == [2])
    try store.close()
  }

  @Test func damagedEntryCountsAsAbsent() throws {
    var store = try world.open("store")
    try store.put(noise(3000), for: key)
    try store.close()
    var image = disk.image
    for (name, bytes) in image where name.hasPrefix("segments/") {
      guard let start = bytes.firstRange(of: noise(3000).prefix(64))?.lowerBound else { continue }
      image[name]![start + 1000] ^= 1
    }
    let damaged = TestWorld(fileSystem: MemoryDisk(image))
    store = try damaged.open("store")
    #expect(try store.put([2], for: key, if: .absent))
    #expect(store["a"] == [2])
    try store.close()
  }

  @Test func aConditionIsComparedAgainAtTheCommit() throws {
    let store = try world.open("store")
    let key = key
    beforeTheNextRecord { try? store.put([1], for: key) }
    #expect(try !store.put([2], for: key, if: .absent), "another put came first")
    #expect(store["a"] == [1])
    let old = digest([1])
    beforeTheNextRecord { try? store.put([3], for: key) }
    #expect(try !store.put([2], for: key, if: .digest(old)))
    #expect(store["a"] == [3])
    beforeTheNextRecord { _ = try? store.remove(key) }
    #expect(try !store.put([2], for: key, if: .present))
    #expect(store["a"] == nil)
    beforeTheNextRecord { try? store.put([3], for: "b") }
    #expect(try store.put([2], for: key, if: .absent), "a put of another key is no obstacle")
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// The entry has other bytes in between, and the expected ones again at the commit.
  @Test func anEntryThatReturnsMeetsTheConditionAgain() throws {
    let store = try world.open("store")
    let key = key
    try store.put(noise(300), for: key)
    beforeTheNextRecord {
      try? store.put([1], for: key)
      try? store.put(noise(300), for: key)
    }
    #expect(try store.put([2], for: key, if: .digest(digest(noise(300)))))
    #expect(store["a"] == [2])
    try store.close()
  }

  /// Other bytes get the place of the expected ones, in a later segment of the same slot.
  @Test func aPlaceThatWasReusedDoesNotMeetTheCondition() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    let key = key
    try store.put(noise(50_000), for: key)
    try store.put(noise(30_000, 2), for: "in the next segment")
    let place = try #require(store.probe.location(of: key))
    let old = digest(noise(50_000))
    let hasPlace = Guarded(false)
    beforeTheNextRecord { [world] in
      _ = try? store.remove(key)
      for _ in 0..<20 {
        world.background.run()
        try? store.put(noise(50_000, 3), for: key)
        if store.probe.location(of: key) == place { return hasPlace.withLock { $0 = true } }
        _ = try? store.remove(key)
      }
    }
    #expect(try !store.put(noise(500, 4), for: key, if: .digest(old)))
    #expect(hasPlace.withLock { $0 }, "the place was not reused")
    #expect(store["a"] == noise(50_000, 3))
    try store.close()
  }

  @Test func oneOfManyThreadsPutsAnAbsentEntry() async throws {
    let store = try world.open("store", StoreOptions(byteBudget: 64 << 20))
    let wins = await withTaskGroup(of: [Int].self) { group in
      for thread in 0..<8 {
        group.addTask {
          (0..<300).map { index in
            (try? store.put(noise(100, UInt64(thread)), for: CacheKey("\(index)"), if: .absent)) == true ? 1 : 0
          }
        }
      }
      return await group.reduce(into: [Int](repeating: 0, count: 300)) { sums, wins in
        for (index, win) in wins.enumerated() { sums[index] += win }
      }
    }
    #expect(wins.allSatisfy { $0 == 1 })
    #expect(store.count == 300)
    try store.close()
  }

  /// Each step reads a number and replaces it by the next one, if it is still there.
  @Test func noStepOfACompareAndSwapIsLost() async throws {
    let store = try world.open("store")
    try store.put([0, 0], for: key)
    let key = key
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var steps = 0
          while steps < 100 {
            guard let old = store.bytes(key), old.count == 2 else { return }
            let next = (Int(old[0]) | Int(old[1]) << 8) + 1
            let isReplaced = try? store.put(
              [UInt8(next & 255), UInt8(next >> 8)], for: key,
              if: .digest(old.withUnsafeBytes { Digest(of: $0) }))
            if isReplaced == true { steps += 1 }
          }
        }
      }
    }
    #expect(store["a"] == [400 & 255, 400 >> 8])
    try store.close()
  }

  @Test func refusedPutsWriteNothing() throws {
    let store = try world.open("store")
    try store.put(noise(3000), for: key)
    try store.flush()
    let before = disk.image
    #expect(try !store.put(noise(9000, 2), for: key, if: .absent))
    #expect(disk.image == before)
    try store.close()
    #expect(throws: StoreError.closed) { try store.put([1], for: key, if: .absent) }
    let reader = try world.openReadOnly("store")
    #expect(throws: StoreError.readOnly) { try reader.put([1], for: key, if: .absent) }
    try reader.close()
  }

  @Test func aPutIfAbsentSurvivesPowerLossIfItIsSynced() throws {
    let store = try world.open("store")
    #expect(try store.put(noise(3000), for: key, if: .absent, options: PutOptions(durability: .synced)))
    let image = disk.image
    let later = try TestWorld(fileSystem: MemoryDisk(image)).open("store")
    #expect(later["a"] == noise(3000))
    try later.close()
    try store.close()
  }

  @Test func asyncFormTellsWhetherTheValueWasStored() async throws {
    let store = try world.open("store")
    #expect(try await store.asynchronous.put([1], for: key, if: .absent))
    #expect(try await !store.asynchronous.put([2], for: key, if: .absent))
    #expect(await store.asynchronous.bytes(key) == [1])
    #expect(await store.asynchronous.contains(key))
    try store.close()
  }
}
