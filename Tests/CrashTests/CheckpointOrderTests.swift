import Foundation
import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 4: a checkpoint is published only if the log is durable up to the newest change that it holds. Otherwise it
/// would name a log file that may not exist.
@Suite struct CheckpointOrderTests {
  @Test func checkpointContinuesWithAnExistingLogFile() throws {
    let work = try Workload()
    let next = "\(Workload.path)/wal/1.wal"
    var number = 0
    // Up to the first frame of a file with an unsynced head.
    while try #require(work.world.disk.contents(next)).prefix(128).allSatisfy({ $0 == 0 }) {
      try work.put("k\(number % 40)", Workload.bytes(200, number))
      number += 1
    }
    let begun = work.world.disk.operationCount
    try work.checkpoint()
    var looked = 0
    for moment in begun...work.world.disk.operationCount {
      let states = work.world.disk.crashStates(after: moment)
      for policy in states.policies(mixtures: 2, seed: UInt64(moment), maximumAlone: 4) {
        looked += 1
        let wrong = Inspection(history: work.history, moment: moment, powerLost: true)
          .run(work.world.rebooted(states.disk(policy)))
        #expect(wrong == nil, "after \(moment), \(policy)")
      }
    }
    #expect(looked > 30)
  }

  /// A flush has taken over a segment and its sync is in progress. No mark passes a record that is still being
  /// written, so only the log has the records behind it, and the checkpoint goes past them.
  @Test func checkpointDuringAFlushSyncsInlinePayloads() throws {
    let work = try Workload()
    try work.put("before", Workload.bytes(700, 1), synced: true)
    try work.flush()
    try work.checkpoint()
    let slow = work.store.probe.reserve(headByteCount: 128, payloadByteCount: 400) { $1.live.count > 0 }
    #expect(slow != nil)
    try work.put("carried", Workload.bytes(900, 2), synced: true)
    try work.put("owed", Workload.bytes(600, 3))
    let begun = work.world.disk.operationCount
    let done = DispatchSemaphore(value: 0)
    let (store, hasPassed) = (work.store, Guarded(false))
    work.world.disk.planDuringSync(1, isDurable: false) {
      Thread.detachNewThread {
        #expect(throws: Never.self) { try store.checkpoint() }
        done.signal()
      }
      // Enough time for the whole call, if it did not wait for the sync.
      if done.wait(timeout: .now() + 0.3) == .success { done.signal() }
      hasPassed.withLock { $0 = true }
    }
    try work.flush()
    done.wait()
    #expect(hasPassed.withLock { $0 })
    expectNoLoss(in: work, since: begun)
    // The pending record is never filled, and a close would wait for it.
    work.store.abandon()
  }

  /// Rule 6: until a checkpoint's header is written, the older one counts, and its replay needs the earlier log files.
  @Test func logFilesAreNotUsedAgainBeforeTheCheckpointIsPublished() throws {
    let work = try Workload()
    var number = 0
    // One file is free, and the checkpoint covers all others.
    while work.store.probe.log.freeCount > 1 || work.store.probe.log.room > 2000 {
      // No frame carries these payloads: a file with such a frame would wait for the marks of the checkpoint.
      try work.put("k\(number)", Workload.bytes(200, number))
      // Only the log has these removals: an index that is rebuilt from the segments lacks them.
      if number % 10 == 0 {
        try work.put("gone\(number)", Workload.bytes(200, 1000 + number))
        try work.remove("gone\(number)", synced: true)
      }
      number += 1
    }
    try work.flush()
    // The checkpoint has a segment to sync, so its first sync comes before it writes its header.
    try work.put("unsynced", Workload.bytes(200, number))
    let (use, reached) = (work.store.probe.log.position.use, Guarded(0))
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let during = work
    let keys = number
    work.world.disk.planDuringSync(1, isDurable: true) {
      Thread.detachNewThread {
        let work = during
        // At the first removal without room, the thread waits for the checkpoint.
        for number in 0..<keys where work.store.probe.log.position.use < use + 2 {
          #expect(throws: Never.self) { try work.remove("k\(number)") }
        }
        done.signal()
      }
      // Until all removals are done, or one waits: the log does not grow in as many looks.
      let log = { during.store.probe.log.position }
      var (place, looks) = (log(), 0)
      while looks < 30 {
        if done.wait(timeout: .now() + 0.02) == .success {
          done.signal()
          break
        }
        looks = log() == place ? looks + 1 : 0
        place = log()
      }
      reached.withLock { $0 = during.world.disk.operationCount }
    }
    try work.store.checkpoint()
    done.wait()
    #expect(work.store.probe.log.position.use == use + 2)
    expectNoLoss(in: work, since: reached.withLock { $0 } - 3, until: reached.withLock { $0 } + 12)
  }

  /// Cuts the power after each operation from `begun` to `end`, in three ways.
  private func expectNoLoss(
    in work: Workload, since begun: Int, until end: Int = .max, at location: SourceLocation = #_sourceLocation
  ) {
    for moment in begun...min(end, work.world.disk.operationCount) {
      let states = work.world.disk.crashStates(after: moment)
      for policy in [CrashPolicy.everythingLost, .everythingKept, .mixture(seed: UInt64(moment))] {
        let wrong = Inspection(history: work.history, moment: moment, powerLost: true)
          .run(work.world.rebooted(states.disk(policy)))
        #expect(wrong == nil, "after \(moment), \(policy)", sourceLocation: location)
      }
    }
  }

  /// The log rotates for a frame only: a file with nothing but a header would be an unsynced one.
  @Test func changeWithoutEffectRotatesNoLog() throws {
    let work = try Workload()
    let use = work.store.probe.log.position.use
    var number = 0
    while work.store.probe.log.position.use == use {
      try work.store.put(Workload.bytes(200, number), for: CacheKey("k\(number % 8)"))
      number += 1
      try work.store.flush()
      #expect(try !work.store.remove("nothing", durability: .synced))
    }
    #expect(work.store.probe.log.position.offset > WALFileHeader.frameStart)
    try work.store.checkpoint()
    let left = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    work.store.abandon()
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(!again.statistics().lastOpen.mayHaveLostRemovals && again.count == 8)
  }

  /// The next attempt writes its root to the same blocks, and its header may reach the disk before its body does.
  @Test func blocksOfAKilledAttemptAreNotTakenForTheNextOne() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(3000, 1), synced: true)
    // The older root keeps the first block of the area. The killed attempt overwrites that root and takes another
    // block. The next attempt takes the first one, so the pieces of the killed attempt stay whole.
    try work.checkpoint()
    try work.reopen()
    try work.close()
    let header = try #require(work.world.disk.operations.last { $0.isCheckpointHeader })
    let world = work.world.rebooted(work.world.disk.crashStates(after: header.index).diskAfterProcessDeath())
    // In the first attempt's blocks, the key has its earlier value. Both headers have the same counts.
    let next = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    try next.put(Workload.bytes(3000, 9), for: "k", options: PutOptions(durability: .synced))
    try next.close()
    try forEachState(of: world) { world, policy in
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      try store.put(Workload.bytes(2000, 2), for: "after", options: PutOptions(durability: .synced))
      let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.bytes("k") == Workload.bytes(3000, 9), "\(policy)")
      #expect(again.bytes("after") == Workload.bytes(2000, 2), "\(policy)")
    }
  }

  /// If an opening dies before it writes a header, the next one finds the same checkpoints.
  @Test func openingsWithTheSameCheckpointsUseDifferentGenerations() {
    var (first, second) = (CheckpointSet(), CheckpointSet())
    let earlier = first.takeGeneration(opening: 2)
    let later = second.takeGeneration(opening: 3)
    #expect(earlier < later)
  }

  @Test func blocksOfAFailedAttemptAreNotTakenForTheNextOne() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    // Without a descriptor the state of the segment is unknown, and nothing is lost: the call may be repeated.
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .fail(24)))
    #expect(throws: StoreError.self) { try work.store.checkpoint() }
    try work.put("k", Workload.bytes(700, 2), synced: true)
    try work.checkpoint()
    try forEachState(of: work.world) { world, policy in
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("k") == Workload.bytes(700, 2), "\(policy)")
    }
  }

  /// The states after the last checkpoint's header was written and before it was synced, with any parts of both
  /// attempts on the disk.
  private func forEachState(of world: SimulatedWorld, _ body: (SimulatedWorld, CrashPolicy) throws -> Void) throws {
    let header = try #require(world.disk.operations.last { $0.isCheckpointHeader })
    let states = world.disk.crashStates(after: header.index + 1)
    for policy in states.policies(mixtures: 30, seed: 1) { try body(world.rebooted(states.disk(policy)), policy) }
  }
}

extension DiskOperation {
  fileprivate var isCheckpointHeader: Bool {
    name == "write" && path.contains("/checkpoints/") && "\(self)".contains("[0, 4096)")
  }
}
