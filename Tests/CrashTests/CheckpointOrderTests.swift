import Foundation
import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 4: a checkpoint is published only when the log is durable up to the newest change that it holds; else it names a
/// file of the log that may not be there.
@Suite struct CheckpointOrderTests {
  @Test func aCheckpointLeadsOnToALogThatIsThere() throws {
    let work = try Workload()
    let next = "\(Workload.path)/wal/1.wal"
    var number = 0
    // Up to the first frame of a file whose head no sync has reached.
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

  /// A flush has taken a segment on itself and its sync is under way; no mark passes a record that is still on its way, and
  /// what is behind that has only the log, which the checkpoint passes.
  @Test func aCheckpointDuringAFlushSyncsWhatOnlyTheLogCarries() throws {
    let work = try Workload()
    try work.put("before", Workload.bytes(700, 1), synced: true)
    try work.flush()
    try work.checkpoint()
    let core = work.store.core
    let slow = core.locked {
      core.openSegments.compactMap { $0 }.first { $0.liveCount > 0 }?
        .reserve(headByteCount: 128, payloadByteCount: 400, pageAligned: false)
    }
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
      // Time for the whole of it, did it not wait for the sync.
      if done.wait(timeout: .now() + 0.3) == .success { done.signal() }
      hasPassed.withLock { $0 = true }
    }
    try work.flush()
    done.wait()
    #expect(hasPassed.withLock { $0 })
    for moment in begun...work.world.disk.operationCount {
      let states = work.world.disk.crashStates(after: moment)
      for policy in [CrashPolicy.everythingLost, .everythingKept, .mixture(seed: UInt64(moment))] {
        let wrong = Inspection(history: work.history, moment: moment, powerLost: true)
          .run(work.world.rebooted(states.disk(policy)))
        #expect(wrong == nil, "after \(moment), \(policy)")
      }
    }
    // What is on its way never comes, and a closing would wait for it.
    work.store.abandon()
  }

  /// The log turns for a frame only: a file with nothing but a header would be one that no sync has reached.
  @Test func aChangeThatComesToNothingTurnsNoLog() throws {
    let work = try Workload()
    let wal = try #require(work.store.core.wal)
    let use = wal.position.use
    var number = 0
    while wal.position.use == use {
      try work.store.put(Workload.bytes(200, number), for: CacheKey("k\(number % 8)"))
      number += 1
      try work.store.flush()
      #expect(try !work.store.remove("nothing", durability: .synced))
    }
    #expect(wal.position.offset > WALFileHeader.frameStart)
    try work.store.checkpoint()
    let left = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    work.store.abandon()
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(!again.statistics().lastOpen.mayHaveLostRemovals && again.count == 8)
  }

  /// Its blocks lie where the next attempt writes, whose header may reach the disk before its blocks do.
  @Test func blocksOfAnAttemptWhoseProcessDiedAreNotTakenForThoseOfTheNext() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(3000, 1), synced: true)
    try work.reopen()
    try work.close()
    let header = try #require(work.world.disk.operations.last { $0.isCheckpointHeader })
    let world = work.world.rebooted(work.world.disk.crashStates(after: header.index).diskAfterProcessDeath())
    // In the first attempt's blocks the segment is open; by the next one it was sealed and cut to its length.
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment).close()
    try forEachState(of: world) { world, policy in
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      try store.put(Workload.bytes(2000, 2), for: "after", options: PutOptions(durability: .synced))
      let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.bytes("k") == Workload.bytes(3000, 1), "\(policy)")
      #expect(again.bytes("after") == Workload.bytes(2000, 2), "\(policy)")
    }
  }

  @Test func blocksOfAnAttemptThatCameToNothingAreNotTakenForThoseOfTheNext() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    // Without a descriptor nothing is known of the segment, and nothing is lost: the call may be made again.
    work.world.disk.plan(Fault(.syncFile, on: .containing("/segments/"), .fail(24)))
    #expect(throws: StoreError.self) { try work.store.checkpoint() }
    try work.put("k", Workload.bytes(700, 2), synced: true)
    try work.checkpoint()
    try forEachState(of: work.world) { world, policy in
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("k") == Workload.bytes(700, 2), "\(policy)")
    }
  }

  /// After the last checkpoint's header was written and before it was synced, whatever of both attempts the disk has.
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
