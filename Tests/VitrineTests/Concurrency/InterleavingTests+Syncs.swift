import Foundation
import Testing

@testable import Vitrine

/// Calls that arrive while a sync is in progress, and while one fails.
extension InterleavingTests {
  /// The kernel reports a failure to one of two syncs. The other's checkpoint would vouch for records that are not
  /// durable.
  @Test func concurrentSyncOfAFailedOneDoesNotCount() throws {
    let store = try world.open("store")
    try store.put(noise(3000, 1), for: "a")
    let segments = store.probe.segments.compactMap { $0 }
    let segment = try #require(segments.first { store.probe.account($0).live.count > 0 }).fileName
    let outcome = Guarded<StoreError?>(nil)
    let done = DispatchSemaphore(value: 0)
    disk.onSync.withLock { handler in
      handler = { [disk] path throws(SystemError) in
        guard path == "segments/\(segment)" else { return }
        disk.onSync.withLock { $0 = nil }
        Thread.detachNewThread {
          do throws(StoreError) { try store.checkpoint() } catch { outcome.withLock { $0 = error } }
          done.signal()
        }
        // Enough time for the whole call, if it continued.
        if done.wait(timeout: .now() + 0.3) == .success { done.signal() }
        throw SystemError(code: 5, operation: "sync", path: path)
      }
    }
    #expect(throws: StoreError.self) {
      try store.put(noise(40_000, 2), for: "b", options: PutOptions(durability: .synced))
    }
    done.wait()
    #expect({ if case .writeFailed? = outcome.withLock({ $0 }) { true } else { false } }())
    try? store.close()
  }

  /// Counts, and returns whether it was the first time.
  private static func isFirst(_ count: Guarded<Int>) -> Bool {
    count.withLock { count in
      count += 1
      return count == 1
    }
  }

  /// The kernel reports a failed sync once. A caller that waited for it and tried again would get a success.
  @Test func callThatWaitsForAFailedSyncFails() throws {
    let store = try world.open("store")
    let wal = store.probe.wal
    let syncs = Guarded(0)
    let outcome = Guarded<StoreError?>(nil)
    let done = DispatchSemaphore(value: 0)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path.hasPrefix("wal/"), Self.isFirst(syncs) else { return }
        let appended = wal.appendedSequence
        Thread.detachNewThread {
          let error = storeError {
            try store.put(noise(400, 2), for: "second", options: PutOptions(durability: .synced))
          }
          outcome.withLock { $0 = error }
          done.signal()
        }
        // The second put has stored its frame, and waits.
        while wal.appendedSequence == appended { usleep(100) }
        usleep(20_000)
        throw SystemError(code: 5, operation: "sync", path: path)
      }
    }
    let first = storeError { try store.put(noise(400, 1), for: "first", options: PutOptions(durability: .synced)) }
    #expect(done.wait(timeout: .now() + 60) == .success)
    for error in [first, outcome.withLock { $0 }] {
      #expect({ if case .writeFailed? = error { true } else { false } }(), "\(String(describing: error))")
    }
    #expect(syncs.withLock { $0 } == 1)
    disk.onSync.withLock { $0 = nil }
    try? store.close()
  }

  /// A call that arrives during a sync waits for the next one: the current one may have begun before its frame.
  @Test func syncThatBeganAfterAFrameMakesItDurable() throws {
    let store = try world.open("store")
    let wal = store.probe.wal
    let (syncs, early) = (Guarded(0), Guarded<[String]>([]))
    let second = Guarded<DispatchSemaphore?>(nil)
    disk.onSync.withLock { handler in
      handler = { path in
        guard path.hasPrefix("wal/"), Self.isFirst(syncs) else { return }
        // Nothing of this sync is durable yet, nor will later frames be.
        let appended = wal.appendedSequence
        if wal.durableSequence >= appended { early.withLock { $0.append("durable before its sync") } }
        let done = DispatchSemaphore(value: 0)
        second.withLock { $0 = done }
        Thread.detachNewThread {
          try? store.put(noise(400, 2), for: "second", options: PutOptions(durability: .synced))
          if syncs.withLock({ $0 }) < 2 { early.withLock { $0.append("acknowledged by a sync from before") } }
          done.signal()
        }
        // The second put has stored its frame, and waits.
        while wal.appendedSequence == appended { usleep(100) }
        usleep(20_000)
        if done.wait(timeout: .now()) == .success {
          early.withLock { $0.append("acknowledged while the sync was under way") }
          done.signal()
        }
      }
    }
    try store.put(noise(400, 1), for: "first", options: PutOptions(durability: .synced))
    let done = try #require(second.withLock { $0 })
    #expect(done.wait(timeout: .now() + 60) == .success)
    #expect(early.withLock { $0 } == [] && syncs.withLock { $0 } >= 2)
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }
}
