import Foundation
import Testing

@testable import Vitrine

/// Many threads that find the log full.
@Suite struct LogRoomTests {
  let disk = MemoryDisk()
  let world: TestWorld
  static let threadCount = 16

  init() { world = TestWorld(fileSystem: disk) }

  /// Fills the log until the next put finds no room.
  private func fillLog(_ store: CacheStore) throws {
    var index = 0
    while store.probe.log.freeCount >= 2 || store.probe.log.room >= 448 {
      try store.put(noise(16, UInt64(index % 8)), for: "k\(index % 8)")
      index += 1
    }
  }

  /// Holds the first sync of a checkpoint file until `body` has run on this many threads up to their wait. Counts the
  /// syncs of checkpoint files.
  private func duringCheckpoint(
    threads: Int, _ body: @escaping @Sendable (Int) -> Void
  ) -> (checkpoints: Guarded<Int>, done: DispatchSemaphore) {
    let checkpoints = Guarded(0)
    let done = DispatchSemaphore(value: 0)
    let records = Guarded(0)
    disk.onWrite.withLock { handler in
      handler = { path, offset in
        if path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount { records.withLock { $0 += 1 } }
      }
    }
    disk.onSync.withLock { handler in
      handler = { path in
        guard path.hasSuffix(".checkpoint") else { return }
        let isFirst = checkpoints.withLock { checkpoints in
          checkpoints += 1
          return checkpoints == 1
        }
        guard isFirst else { return }
        let wanted = records.withLock { $0 } + threads
        for thread in 0..<threads {
          Thread.detachNewThread {
            body(thread)
            done.signal()
          }
        }
        // Waits until all threads have placed their records. The log then has no room for their frames.
        let deadline = Date.now + 60
        while records.withLock({ $0 }) < wanted, Date.now < deadline { usleep(100) }
        usleep(20_000)
      }
    }
    return (checkpoints, done)
  }

  @Test func threadsThatFindTheLogFullWriteOneCheckpoint() throws {
    // One segment holds all records, which use positioned writes.
    let store = try world.open(
      "store", StoreOptions(byteBudget: 8 << 20, segmentByteCount: 1 << 20, reads: .copied))
    try fillLog(store)
    let errors = Guarded<[StoreError]>([])
    let (checkpoints, done) = duringCheckpoint(threads: Self.threadCount) { thread in
      if let error = storeError({ try store.put(noise(16, UInt64(100 + thread)), for: "t\(thread)") }) {
        errors.withLock { $0.append(error) }
      }
    }
    try store.put(noise(16, 99), for: "first")
    for _ in 0..<Self.threadCount { #expect(done.wait(timeout: .now() + 60) == .success) }
    #expect(checkpoints.withLock { $0 } == 1 && errors.withLock { $0 } == [])
    #expect((0..<Self.threadCount).allSatisfy { store["t\($0)"] == noise(16, UInt64(100 + $0)) })
    disk.onSync.withLock { $0 = nil }
    disk.onWrite.withLock { $0 = nil }
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// A checkpoint that began before a call may lack changes made before the call.
  @Test func checkpointRequestedDuringAnotherIsWritten() throws {
    let store = try world.open("store")
    try store.put(noise(16), for: "a")
    let checkpoints = Guarded(0)
    let (isAsked, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    disk.onSync.withLock { handler in
      handler = { path in
        guard path.hasSuffix(".checkpoint") else { return }
        let isFirst = checkpoints.withLock { checkpoints in
          checkpoints += 1
          return checkpoints == 1
        }
        guard isFirst else { return }
        Thread.detachNewThread {
          isAsked.signal()
          try? store.checkpoint()
          done.signal()
        }
        isAsked.wait()
        usleep(20_000)
      }
    }
    try store.checkpoint()
    #expect(done.wait(timeout: .now() + 60) == .success)
    #expect(checkpoints.withLock { $0 } == 2)
    disk.onSync.withLock { $0 = nil }
    try store.checkpoint()
    try store.close()
  }
}
