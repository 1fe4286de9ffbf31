import Foundation
import Testing

@testable import Vitrine

/// Threads share syncs, and a failed sync serves none of their calls.
@Suite struct SharedSyncTests {
  private let syncs = SharedSync()

  /// Runs calls on threads of their own, all while the first sync is in progress. `sync` gets the number of the sync,
  /// from 1 on. Returns the errors of the calls.
  private func callAll(_ count: Int, _ sync: @escaping @Sendable (Int) throws(SystemError) -> Void) -> [SystemError?] {
    let (syncs, begun) = (syncs, Guarded(0))
    let outcomes = Guarded<[SystemError?]>([])
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<count {
      Thread.detachNewThread {
        var failure: SystemError?
        do throws(SystemError) {
          try syncs.sync { () throws(SystemError) in
            let number = begun.withLock { begun in
              begun += 1
              return begun
            }
            while number == 1, syncs.callsInProgress < count { usleep(100) }
            try sync(number)
          }
        } catch {
          failure = error
        }
        outcomes.withLock { $0.append(failure) }
        done.signal()
      }
    }
    for _ in 0..<count { done.wait() }
    return outcomes.withLock { $0 }
  }

  @Test func callsDuringASyncShareTheNextOne() {
    let count = Guarded(0)
    let errors = callAll(20) { _ in count.withLock { $0 += 1 } }
    #expect(errors.count == 20 && errors.allSatisfy { $0 == nil })
    #expect(count.withLock { $0 } == 2)
    #expect(syncs.callsInProgress == 0)
  }

  @Test func aCallAloneSyncsAtOnceEachTime() throws {
    var count = 0
    for _ in 0..<3 { syncs.sync { count += 1 } }
    #expect(count == 3)
    // The group before does not keep a later call alone from beginning.
    _ = callAll(8) { _ in }
    syncs.sync { count += 1 }
    #expect(count == 4)
  }

  @Test func aServedCallRunsNoSync() {
    var looks = 0
    func isServed() -> Bool {
      looks += 1
      return true
    }
    syncs.sync(unless: isServed) { Issue.record("synced") }
    #expect(looks == 1)
  }

  /// The first sync fails for its caller alone. The others run their own: a later one may succeed, for example once a
  /// descriptor is free again.
  @Test func aFailedSyncServesNoOtherCall() {
    let failure = SystemError(code: SystemError.ioError, operation: "sync", path: "a")
    let count = Guarded(0)
    let errors = callAll(10) { number throws(SystemError) in
      count.withLock { $0 += 1 }
      if number <= 3 { throw failure }
    }
    #expect(errors.count { $0 != nil } == 3)
    #expect(count.withLock { $0 } == 4)
  }

  @Test func noSyncRunsBesideExcludedWork() {
    let (syncs, isWorking) = (syncs, Guarded(false))
    let done = DispatchSemaphore(value: 0)
    var overlaps = 0
    syncs.exclude {
      isWorking.withLock { $0 = true }
      Thread.detachNewThread {
        syncs.sync { if isWorking.withLock({ $0 }) { Issue.record("both at once") } }
        done.signal()
      }
      while syncs.callsInProgress == 0 { usleep(100) }
      usleep(2000)
      isWorking.withLock { $0 = false }
      overlaps += 1
    }
    done.wait()
    // The work before the call does not serve it, so there was a sync.
    #expect(overlaps == 1)
  }

  /// Values that no frame carries are synced in their segment: eight writers need two syncs of it, not eight.
  @Test func putsIntoOneSegmentShareItsSyncs() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open(
      "store", StoreOptions(byteBudget: 256 << 20, segmentByteCount: 16 << 20))
    try store.put(noise(300_000, 99), for: "opens a segment")
    let found = (0..<8).compactMap { store.probe.segment(inSlot: $0) }.first { store.probe.account($0).live.count > 0 }
    let segment = try #require(found)
    let (count, writers) = (Guarded(0), 8)
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path == "segments/\(segment.fileName)" else { return }
        let isFirst = count.withLock { count in
          count += 1
          return count == 1
        }
        // Until the others have stored their records, and wait.
        while isFirst, segment.syncs.callsInProgress < writers { usleep(100) }
      }
    }
    let done = DispatchSemaphore(value: 0)
    let errors = Guarded<[any Error]>([])
    for index in 0..<writers {
      Thread.detachNewThread {
        do {
          try store.put(noise(300_000, UInt64(index)), for: "\(index)", options: PutOptions(durability: .synced))
        } catch {
          errors.withLock { $0.append(error) }
        }
        done.signal()
      }
    }
    for _ in 0..<writers { done.wait() }
    disk.onSync.withLock { $0 = nil }
    #expect(errors.withLock { $0.isEmpty })
    #expect(count.withLock { $0 } == 2)
    for index in 0..<writers { #expect(store.bytes("\(index)") == noise(300_000, UInt64(index))) }
    try store.close()
  }
}
