import Foundation
import Testing

@testable import Vitrine

/// The way in which frames are written to the log, and the bytes that the disk receives for them.
@Suite struct WrittenBytesTests {
  let disk = MemoryDisk()
  let world: TestWorld
  /// Positioned writes of frames.
  let calls = Guarded(0)

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ byteBudget: Int = 4 << 20, segmentByteCount: Int? = nil) throws -> CacheStore {
    let store = try world.open(
      "store", StoreOptions(byteBudget: byteBudget, segmentByteCount: segmentByteCount))
    try store.put(noise(10), for: "opens a segment")
    try store.flush()
    disk.onWrite.withLock { handler in
      handler = { [calls] path, offset in
        if path.hasPrefix("wal/"), offset >= WALFileHeader.frameStart { calls.withLock { $0 += 1 } }
      }
    }
    return store
  }

  private func frames(_ store: CacheStore, _ body: () throws -> Void) throws -> (calls: Int, all: Int) {
    let wal = store.probe.wal
    let before = (calls.withLock { $0 }, wal.appendedSequence)
    try body()
    return (calls.withLock { $0 } - before.0, Int(wal.appendedSequence - before.1))
  }

  /// A store into a mapping dirties a whole folio, which the sync then writes.
  @Test func framesFollowedByASyncArePositionedWrites() throws {
    let store = try open()
    // A burst of buffered puts before them does not change this.
    for index in 0..<100 { try store.put(noise(20, UInt64(index)), for: "burst") }
    let synced = try frames(store) {
      for index in 0..<20 {
        try store.put(noise(200, UInt64(index)), for: "a", options: PutOptions(durability: .synced))
        try store.setMetadata([UInt8(index)], for: CacheKey("a"), durability: .synced)
        try store.remove("a", durability: .synced)
        try store.putMany([(CacheKey("b"), noise(9, UInt64(index)), PutOptions())], durability: .synced)
        try store.removeAllStyles("b", durability: .synced)
      }
    }
    #expect(synced.calls == synced.all && synced.all >= 100)
    try store.close()
  }

  @Test func trickleUsesPositionedWritesAndABurstTheMapping() throws {
    let store = try open()
    let trickle = try frames(store) {
      for index in 0..<40 {
        try store.put(noise(20, UInt64(index)), for: "a")
        if index % 4 == 3 { try store.flush() }
      }
    }
    #expect(trickle.calls == trickle.all && trickle.all >= 40)
    let burst = try frames(store) {
      for index in 0..<200 { try store.put(noise(20, UInt64(index)), for: "a") }
    }
    #expect(burst.calls < burst.all / 2)
    try store.close()
  }

  /// A round of upkeep syncs the log: removals that ask for one each time would sync as often.
  @Test func removalsAskForUpkeepOnlyWhenASegmentIsEmpty() throws {
    let store = try open(64 << 20, segmentByteCount: 640 << 10)
    try store.growLog()
    func wakes(_ body: () throws -> Void) rethrows -> Int {
      let before = world.background.wakeCount.withLock { $0 }
      try body()
      return world.background.wakeCount.withLock { $0 } - before
    }
    for index in 0..<200 { try store.put(noise(200, UInt64(index)), for: "k\(index)") }
    #expect(try wakes { for index in 0..<100 { try store.remove("k\(index)") } } == 0)
    #expect(try wakes { for index in 0..<100 { try store.remove("k\(index)") } } == 0)
    #expect(try wakes { for index in 100..<150 { try store.removeAllStyles("k\(index)") } } == 0)
    // More than one segment.
    for index in 0..<10 { try store.put(noise(100_000, UInt64(1000 + index)), for: "large \(index)") }
    let keys = try store.keysInOrder()
    #expect(try wakes { try store.removeMany(keys) } == 1)
    #expect(try wakes { try store.removeAll() } == 1)
    #expect(try wakes { try store.removeAll() } == 0)
    try store.close()
  }

  // MARK: A real disk

  /// Bytes of files that this thread has dirtied; nil if the system does not count them.
  private static func dirtiedByteCount() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8) else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix("write_bytes: ") { return Int(line.dropFirst(13)) }
    return nil
  }

  /// Runs `body` on a separate thread; nil if the file system does not count.
  private func dirtied(_ store: CacheStore, _ body: @escaping @Sendable (CacheStore) throws -> Void) throws -> Int? {
    let result = Guarded<Result<Int?, any Error>>(.success(nil))
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      result.withLock { result in
        result = Result {
          let before = Self.dirtiedByteCount()
          try body(store)
          guard let before, let after = Self.dirtiedByteCount(), after > before else { return nil }
          return after - before
        }
      }
      done.signal()
    }
    done.wait()
    return try result.withLock { try $0.get() }
  }

  /// The log of a store of the default size has files of 16 MiB.
  @Test(arguments: [200, 3000])
  func syncedPutsDirtyLittleMoreThanTheirBytes(_ byteCount: Int) throws {
    let folder = try TemporaryFolder()
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 2 << 30))
    try store.put(noise(10), for: "opens a segment", options: PutOptions(durability: .synced))
    let count = 300
    let bytes = try dirtied(store) { store in
      for index in 0..<count {
        try store.put(
          noise(byteCount, UInt64(index)), for: "k\(index)", options: PutOptions(durability: .synced))
      }
    }
    if let bytes { #expect(bytes <= count * (20 << 10), "\(bytes)") }
    let removals = try dirtied(store) { store in
      for index in 0..<count {
        try store.remove("k\(index)")
        if index % 10 == 9 { try store.flush() }
      }
    }
    if let removals { #expect(removals <= count * (20 << 10), "\(removals)") }
    try store.close()
  }
}
