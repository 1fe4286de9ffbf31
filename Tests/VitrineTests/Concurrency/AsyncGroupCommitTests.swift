import Foundation
import Testing

@testable import Vitrine

/// Async changes that wait for the disk hold no thread of the pool while they wait.
@Suite struct AsyncGroupCommitTests {
  let disk = MemoryDisk()
  let world: TestWorld
  static let taskCount = 64

  init() { world = TestWorld(fileSystem: disk) }

  /// A store whose log file holds the frames of all tasks, with an open segment for their records.
  private func open(segmentByteCount: Int? = nil) throws -> CacheStore {
    let store = try world.open("store", StoreOptions(byteBudget: 64 << 20, segmentByteCount: segmentByteCount))
    try store.put(noise(10), for: "opens a segment")
    return store
  }

  /// Holds the first sync of the log until this many more frames are stored; then the sync throws `outcome`'s
  /// error.
  private func holdFirstSync(
    _ store: CacheStore, frames: Int, _ outcome: @escaping @Sendable (String) throws(SystemError) -> Void = { _ in }
  ) throws -> Guarded<Int> {
    let wal = store.probe.wal
    let wanted = wal.appendedSequence + UInt64(frames)
    let syncs = Guarded(0)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path.hasPrefix("wal/") else { return }
        let isFirst = syncs.withLock { syncs in
          syncs += 1
          return syncs == 1
        }
        guard isFirst else { return }
        let deadline = Date.now + 60
        while wal.appendedSequence < wanted, Date.now < deadline { usleep(100) }
        try outcome(path)
      }
    }
    return syncs
  }

  private func putAll(_ store: CacheStore) async -> [StoreError?] {
    await withTaskGroup(of: StoreError?.self) { group in
      for index in 0..<Self.taskCount {
        group.addTask {
          do throws(StoreError) {
            try await store.asynchronous.put(
              noise(200, UInt64(index)), for: CacheKey("k\(index)"), options: PutOptions(durability: .synced))
            return nil
          } catch {
            return error
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func syncedPutsOfManyTasksShareASync() async throws {
    // No frame of a new segment comes between those of the tasks.
    let store = try open(segmentByteCount: 4 << 20)
    try store.growLog()
    // Later syncs concern one file.
    try store.flush()
    let syncs = try holdFirstSync(store, frames: Self.taskCount)
    #expect(await putAll(store).allSatisfy { $0 == nil })
    // The held one, and one for all frames that it may not have covered. A slow machine may see a few more.
    #expect(syncs.withLock { $0 } <= 8)
    let wal = store.probe.wal
    #expect(wal.durableSequence >= wal.appendedSequence && store.count == Self.taskCount + 1)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  @Test func failedSyncFailsAllWaitingCalls() async throws {
    let store = try open()
    _ = try holdFirstSync(store, frames: Self.taskCount) { path throws(SystemError) in
      throw SystemError(code: 5, operation: "sync", path: path)
    }
    for error in await putAll(store) {
      #expect({ if case .writeFailed? = error { true } else { false } }(), "\(String(describing: error))")
    }
    disk.onSync.withLock { $0 = nil }
    await #expect(throws: StoreError.self) { try await store.asynchronous.remove(CacheKey("k1"), durability: .synced) }
    try? store.close()
  }

  /// Closing the store ends every wait.
  @Test func waitingChangesEndWhenTheStoreIsClosed() async throws {
    let store = try open()
    let wal = store.probe.wal
    let wanted = wal.appendedSequence + UInt64(Self.taskCount / 2)
    _ = try holdFirstSync(store, frames: Self.taskCount / 2)
    async let errors = putAll(store)
    while wal.appendedSequence < wanted { await Task.yield() }
    try await store.asynchronous.close()
    for error in await errors { #expect(error == nil || error == .closed) }
    disk.onSync.withLock { $0 = nil }
    let again = try world.open("store")
    #expect(again.count > Self.taskCount / 2)
    try again.close()
  }

  @Test func everySyncedAsyncChangeIsDurableWhenItReturns() async throws {
    let store = try world.open("store")
    let wal = store.probe.wal
    let asynchronous = store.asynchronous
    let synced = PutOptions(durability: .synced)
    func isDurable() -> Bool { wal.durableSequence >= wal.appendedSequence }
    try await asynchronous.put([1], for: CacheKey("a"), options: synced)
    #expect(isDurable())
    try await asynchronous.putMany([(CacheKey("b"), [2], PutOptions())], durability: .synced)
    #expect(isDurable())
    var batch = WriteBatch()
    batch.put([3], for: CacheKey("c"))
    try await asynchronous.write(batch, durability: .synced)
    #expect(isDurable())
    #expect(try await asynchronous.setMetadata([1], for: CacheKey("a"), durability: .synced))
    #expect(isDurable())
    #expect(try await asynchronous.setExpiration(nil, for: CacheKey("a"), durability: .synced))
    #expect(isDurable())
    #expect(try await asynchronous.remove(CacheKey("a"), durability: .synced))
    #expect(isDurable())
    #expect(try await asynchronous.removeMany([CacheKey("b")], durability: .synced) == 1)
    #expect(isDurable())
    #expect(try await asynchronous.removeAllStyles("c", durability: .synced) == 1)
    #expect(isDurable())
    let writer = try asynchronous.writer(for: CacheKey("d"), options: synced)
    try await writer.write([4])
    try await writer.commit()
    #expect(isDurable())
    #expect(try await asynchronous.removeAll(prefix: "d", durability: .synced) == 1)
    #expect(isDurable())
    try await asynchronous.removeAll(durability: .synced)
    #expect(isDurable())
    try await asynchronous.put([5], for: CacheKey("e"))
    #expect(!isDurable())
    // A thread that has run an async change waits for its own synced changes as usual.
    try store.put([6], for: "f", options: synced)
    #expect(isDurable())
    try store.close()
  }
}
