import Foundation
import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// A store is closed while other threads are at work in it.
@Suite struct ClosingTests {
  private func semaphore() -> DispatchSemaphore { DispatchSemaphore(value: 0) }

  private func hasEnded(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 60) == .success }

  private func close(_ store: CacheStore, first: @escaping @Sendable () -> Void = {}) -> DispatchSemaphore {
    let closed = semaphore()
    Thread.detachNewThread {
      first()
      try? store.close()
      closed.signal()
    }
    return closed
  }

  /// The put has its reservation, but the log has no room for its frame. The checkpoint that would make room needs the
  /// lock under which a store is closed.
  @Test func putThatNeedsACheckpointDoesNotBlockClosing() throws {
    for _ in 0..<20 {
      let work = try Workload()
      let store = work.store
      var number = 0
      while store.probe.log.freeCount >= 2 || store.probe.log.room >= 448 {
        try store.put(Workload.bytes(20, number), for: CacheKey("k\(number % 8)"))
        number += 1
      }
      let (put, isHeld, mayClose) = (semaphore(), semaphore(), semaphore())
      // The thread that holds a lock releases it: from another thread that is undefined.
      let closed = close(store) {
        store.probe.withUpkeepLock {
          isHeld.signal()
          mayClose.wait()
        }
      }
      isHeld.wait()
      let last = number
      Thread.detachNewThread {
        try? store.put(Workload.bytes(20, last), for: "last")
        put.signal()
      }
      while store.probe.pendingCount == 0 { usleep(100) }
      mayClose.signal()
      guard hasEnded(closed), hasEnded(put) else {
        Issue.record("they wait for each other")
        return
      }
    }
  }

  @Test func entryDroppedByAConcurrentGetKeepsAccountsRight() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(3000, 1), synced: true)
    try work.put("other", Workload.bytes(3000, 2), synced: true)
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    for path in world.disk.filePaths where path.hasSuffix(".segment") {
      guard let range = world.disk.contents(path)?.firstRange(of: Workload.bytes(3000, 1)) else { continue }
      #expect(world.disk.damage(path) { $0[range.lowerBound + 100] ^= 1 })
    }
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    // Dead records make closing sync before it writes the index.
    try store.put(Workload.bytes(100_000, 3), for: "large")
    try store.remove("large")
    let hasMissed = Guarded(false)
    world.disk.planDuringSync(1, isDurable: true) {
      if store.bytes("k") == nil { hasMissed.withLock { $0 = true } }
    }
    try store.close()
    #expect(hasMissed.withLock { $0 })
    let left = world.rebooted(world.disk.copy())
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(again.statistics().lastOpen.kind == .clean && Accounts.check(again) == nil)
    #expect(again.bytes("k") == nil && again.bytes("other") == Workload.bytes(3000, 2))
    try again.close()
  }

  /// If memory is short for a sync, the put is refused, and its reservation does not stay pending.
  @Test func syncShortOfMemoryLeavesNoPendingReservation() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 16 << 20))
    let store = work.store
    let options = PutOptions(durability: .synced)
    // Then it has a segment, whose own sync is done.
    try store.put(Workload.bytes(100, 2), for: "first")
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .fail(ErrorCode.noMemory)))
    #expect(throws: StoreError.self) { try store.put(Workload.bytes(60_000, 1), for: "large", options: options) }
    try store.put(Workload.bytes(60_000, 1), for: "large", options: options)
    #expect(hasEnded(close(store)))
  }

  /// Between the failed check and the removal nothing is pinned: the place may have been reused for the key.
  @Test func lateDropKeepsTheNewEntry() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20))
    let store = work.store
    try store.put(Workload.bytes(100_000, 1), for: "k")
    let old = try #require(store.probe.entries.first)
    let segment = store.probe.segmentNumber(inSlot: old.location.slot)
    try store.put(Workload.bytes(100_000, 2), for: "k")
    work.world.background.runAll()
    try store.put(Workload.bytes(100_000, 3), for: "k", options: PutOptions(durability: .synced))
    #expect(try #require(store.probe.entries.first).location == old.location, "the place was not given anew")
    store.probe.steps.drop(old.hash, old.location, in: segment)
    #expect(store.bytes("k")?.count == 100_000)
    try store.close()
  }

  /// The tool relies on it: a buffered put of a closed store is as durable as a synced one.
  @Test func bufferedChangesOfAClosedStoreSurvivePowerLoss() throws {
    let work = try Workload()
    let store = work.store
    try store.put(Workload.bytes(700, 1), for: "removed", options: PutOptions(durability: .synced))
    for number in 0..<40 { try store.put(Workload.bytes(number * 977 % 30_000, number), for: "k\(number)") }
    try store.remove("removed")
    try store.close()
    let disk = work.world.disk
    var count = 0
    for crash in disk.crashes(mixtures: 8, seed: 3, maximumAlone: 40, after: [disk.operationCount]) {
      count += 1
      let left = work.world.rebooted(crash.disk())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      #expect(again.count == 40 && again.bytes("removed") == nil, "\(crash)")
      for number in 0..<40 {
        #expect(again.bytes("k\(number)") == Workload.bytes(number * 977 % 30_000, number), "\(crash)")
      }
      again.abandon()
    }
    #expect(count > 0)
  }

  /// Only this error tells the caller that a background sync has failed.
  @Test(arguments: [DiskCall.syncFile, .write]) func closingAfterAFailureInTheBackgroundThrows(_ call: DiskCall) throws
  {
    let work = try Workload()
    let store = work.store
    try store.put(Workload.bytes(9000, 1), for: "k")
    work.world.disk.plan(
      Fault(call, on: .containing(call == .write ? "/checkpoints/" : "/"), .fail(ErrorCode.inputOutput)))
    if call == .write { store.probe.requestCheckpoint() }
    work.world.background.runAll()
    work.world.disk.removeFaults()
    #expect(throws: StoreError.self) { try store.close() }
    #expect(store.lookup("k") == .closed)
    #expect(throws: Never.self) { try store.close() }
  }

  @Test func closingInAFolderThatWasTakenAwayThrows() throws {
    for isNoticed in [false, true] {
      let work = try Workload()
      try work.put("k", Workload.bytes(500, 1))
      work.world.disk.move(Workload.path, to: "/elsewhere")
      if isNoticed { #expect(throws: StoreError.storeRemoved) { try work.store.flush() } }
      #expect(throws: StoreError.storeRemoved) { try work.store.close() }
      #expect(work.store.lookup("k") == .closed)
    }
  }
}
