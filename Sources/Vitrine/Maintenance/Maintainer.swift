/// Does upkeep in the background: syncs, checkpoints, expiry, spares, and compaction when the store is quiet or the app
/// says that it is idle. This compaction evicts nothing.
final class Maintainer: StorePart {
  let context: StoreContext
  private let basics: BasicParts
  private let checkpointer: Checkpointer
  private let retirement: SegmentRetirement
  private let expirer: Expirer
  private let evictor: Evictor
  private let compactor: Compactor
  private let budgets: Budgets
  private let roomRelease: RoomRelease
  private let mappedSegments: MappedSegments
  private let supply: SegmentSupply
  private let leftovers: LeftoverChecker

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ space: SpaceParts,
    _ reads: ReadParts, _ writes: WriteParts, budgets: Budgets, leftovers: LeftoverChecker
  ) {
    self.context = context
    self.basics = basics
    checkpointer = checkpoints.checkpointer
    retirement = space.retirement
    expirer = space.expirer
    evictor = space.evictor
    compactor = space.compactor
    self.budgets = budgets
    roomRelease = space.roomRelease
    mappedSegments = reads.mappedSegments
    supply = writes.supply
    self.leftovers = leftovers
  }

  private var gate: WriteGate { basics.gate }
  private var signal: UpkeepSignal { basics.signal }
  private var meters: Meters { basics.meters }
  private var lifetimes: Lifetimes { basics.lifetimes }
  private var syncer: Syncer { basics.syncer }

  /// Nanoseconds without a put after which a store counts as quiet.
  private static let quietTime: UInt64 = 3_000_000_000

  private static let stepTime: UInt64 = 1_000_000_000

  /// The least share of dead bytes in a segment that is compacted in a quiet store.
  private static let leastDead = 1.0 / 16

  /// Nanoseconds without a put after which a store releases the room that it took for speed.
  private static let restingTime: UInt64 = 600_000_000_000

  /// Records puts since the last round. Returns whether there was none for ``quietTime``.
  func noteQuiet(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    let now = environment.clock.monotonicNanoseconds()
    let put = meters.bytesPut
    return upkeep.state.quiet.note(bytesPut: put, at: now) >= Maintainer.quietTime
  }

  /// If the store is quiet, retires spares and, if enough bytes are dead, compacts at most a segment's worth of bytes.
  /// If no segment is freed and there was no put for ``restingTime``, releases room. Does this at most once a second.
  /// So compaction takes about a second for each two-hundredth of the budget.
  func compactWhenQuiet(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let now = environment.clock.monotonicNanoseconds()
    guard noteQuiet(upkeep) else { return }
    guard upkeep.state.quiet.beginStep(at: now, pause: Maintainer.stepTime) else {
      return upkeep.state.schedule.putOff()
    }
    try retirement.retireSpares(but: 1, upkeep)
    if try compactIfWorthwhile(upkeep) { return }
    if upkeep.state.quiet.isQuiet(for: Maintainer.restingTime, at: now) { try roomRelease.release(upkeep) }
  }

  /// Compacts once if enough bytes are dead. Returns whether another call may free more.
  private func compactIfWorthwhile(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    let isWorthIt = commitLock.withLock { held in
      let dead = held.state.compactable.reduce(0) { $0 + $1.deadByteCount }
      let live = held.state.index.liveByteCount
      return dead > held.state.segmentByteCount && dead > live / 50 && held.state.ledger.total > live + live / 8
    }
    guard isWorthIt else { return false }
    try supply.makeCopySpare(leastDead: Maintainer.leastDead, upkeep)
    return try compactor.compactOnce(leastDead: Maintainer.leastDead, upkeep)?.mayFreeMore ?? false
  }

  /// Does all pending upkeep, until nothing is left or `goesOn` returns false. Returns true if nothing is left.
  func idle(_ goesOn: () -> Bool) throws(StoreError) -> Bool {
    try gate.requireWritable()
    try gate.requireNamedNow()
    maintain(isIdle: true)
    try? leftovers.checkLeftovers()
    while goesOn() {
      if try expirer.expire(lookingAt: Expirer.mostLooks).mayBeMore { continue }
      let hasMade = try upkeepLock.withLock { upkeep throws(StoreError) in
        try gate.requireWritable()
        try retirement.retireSpares(but: 1, upkeep)
        try retirement.trimSealedSegments(upkeep)
        return try compactIfWorthwhile(upkeep)
      }
      if !hasMade {
        try upkeepLock.withLock { upkeep throws(StoreError) in try roomRelease.release(upkeep) }
        return true
      }
    }
    return false
  }

  static let upkeepMilliseconds = 1000

  /// Does one round of upkeep. ``nextStep()`` tells when the next one is due. Write errors are kept in the store's
  /// state, where the next caller meets them. A lack of room is ignored, and met again by the call that needs the room.
  /// An idle round leaves compaction to its caller.
  func maintain(isIdle: Bool = false) {
    if gate.isReadOnly || gate.isClosed { return }
    meters.publishCounters()
    lifetimes.noteUseTime()
    guard (try? gate.requireWritable()) != nil, (try? gate.requireNamed()) != nil else { return }
    // The next segment is made first, because a put may soon wait for it.
    let isBusy = !isIdle && upkeepLock.withLock { upkeep in !noteQuiet(upkeep) }
    if isBusy, commitLock.withLock({ held in held.state.writable.hasOpen }) { try? supply.makeSpares(2, isAhead: true) }
    round { upkeep throws(StoreError) in try retirement.removeOrphans(upkeep) }
    try? syncer.flushGently()
    if signal.wantsCheckpoint { try? checkpointer.prepareCheckpoint() }
    round { upkeep throws(StoreError) in
      if isRecencyOld(upkeep), upkeep.state.pieces != nil { basics.useSaver.save(upkeep) }
      if signal.wantsCheckpoint || isRecencyOld(upkeep) && upkeep.state.pieces == nil {
        try checkpointer.writeCheckpoint(upkeep)
      }
    }
    expirer.removeExpiredAhead()
    evictor.liftOldStamps()
    round { upkeep throws(StoreError) in try budgets.enforce(upkeep) }
    budgets.enforceStyles()
    round { upkeep throws(StoreError) in try retirement.retireDeadSegments(upkeep) }
    round { upkeep throws(StoreError) in try retirement.trimSealedSegments(upkeep) }
    if !isIdle { round { upkeep throws(StoreError) in try compactWhenQuiet(upkeep) } }
    try? syncer.flushGently()
    try? syncer.flush()
    round { upkeep throws(StoreError) in mappedSegments.trimMappings(upkeep) }
  }

  /// Returns when the next step of the upkeep is due. If no round is due soon, the store falls asleep: the next step is
  /// then a last look (``lastLook()``), which returns how long the sleep lasts.
  func nextStep() -> NextStep {
    if gate.isClosed || gate.writesNoMore { return .whenWoken }
    let soon = NextStep.after(milliseconds: Maintainer.upkeepMilliseconds)
    return upkeepLock.withLock { upkeep in
      if upkeep.state.schedule.note(mark(upkeep)) || mustPoll(upkeep) { return soon }
      let delay = min(untilQuiet(upkeep), untilRecencyIsOld(upkeep), untilExpiry)
      if delay <= Maintainer.upkeepMilliseconds { return soon }
      // Later uses and changes wake the upkeep. The last look finds those before this point.
      signal.fallAsleep()
      catalog.useTimes.endCurrent()
      upkeep.state.schedule.fallAsleep(
        until: delay == .max ? .whenWoken : .after(milliseconds: delay - Maintainer.upkeepMilliseconds))
      return soon
    }
  }

  /// Takes the last look before a sleep. Returns when the next round is due; nil if it is due now.
  func lastLook() -> NextStep? {
    upkeepLock.withLock { upkeep in
      guard upkeep.state.schedule.isFallingAsleep else { return nil }
      return upkeep.state.schedule.takeLastLook(mark(upkeep))
    }
  }

  private func mark(_ upkeep: borrowing UpkeepLock.Held) -> UpkeepSchedule.Mark {
    let (sequence, checkpointCount, byteCount) = commitLock.withLock { held in
      (held.state.log.nextSequence, held.state.checkpoint.published, held.state.ledger.total)
    }
    let lookups = catalog.keys.lookups
    return UpkeepSchedule.Mark(
      sequence: sequence, checkpointCount: checkpointCount, lookupCount: lookups.hits &+ lookups.misses,
      byteCount: byteCount,
      wakeCount: signal.wakeCount,
      retiringCount: upkeep.state.retiring.segments.count, orphanCount: upkeep.state.orphans.names.count)
  }

  /// Whether the next round must come soon even without a call: work of upkeep is left, other threads have to release
  /// pins or Blobs, or other programs may fill the disk.
  private func mustPoll(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    let isWaiting = !upkeep.state.retiring.segments.isEmpty || !upkeep.state.orphans.names.isEmpty
    if isWaiting || signal.wantsCheckpoint { return true }
    return commitLock.withLock { held in
      held.state.current.minimumFree > 0 || held.state.ledger.missing(0) > 0
        || !held.state.index.sums.uncounted.isEmpty
        || held.state.index.segments.mappedCount > held.state.index.segments.mappedLimit
        || held.state.index.segments.all.contains { segment in
          guard let segment, case let account = held.state[segment] else { return false }
          return account.sync.owesSync || account.sync.isBeingFlushed || account.isDead
        }
    }
  }

  /// Milliseconds until a store without puts counts as quiet, or as resting; `Int.max` if it does already.
  private func untilQuiet(_ upkeep: borrowing UpkeepLock.Held) -> Int {
    let now = environment.clock.monotonicNanoseconds()
    for time in [Maintainer.quietTime, Maintainer.restingTime] {
      let left = upkeep.state.quiet.timeUntilQuiet(for: time, at: now)
      if left > 0 { return Int(left / 1_000_000) + 1 }
    }
    return .max
  }

  /// Milliseconds until the uses since the last save must be saved; `Int.max` if there are none.
  private func untilRecencyIsOld(_ upkeep: borrowing UpkeepLock.Held) -> Int {
    guard hasUnsavedUses(upkeep) else { return .max }
    let since = environment.clock.monotonicNanoseconds() &- upkeep.state.quiet.lastUses.nanoseconds
    return since > Maintainer.longestForgotten ? 0 : Int((Maintainer.longestForgotten - since) / 1_000_000) + 1
  }

  /// Milliseconds until an entry may expire, at most ten minutes, because the wall clock may step meanwhile; `Int.max`
  /// if none does.
  private var untilExpiry: Int {
    guard let due = expirer.nextDue else { return 0 }
    if due == .max { return .max }
    return Int(min(max(0, saturatingSum(due, -environment.clock.wallMilliseconds())), Maintainer.longestUntilExpiry))
  }

  private static let longestUntilExpiry: Int64 = 600_000

  /// Whether a crash would lose the stamps of about a minute of hits, also of readers' hits.
  private func isRecencyOld(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    hasUnsavedUses(upkeep) && untilRecencyIsOld(upkeep) == 0
  }

  private func hasUnsavedUses(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    let quiet = upkeep.state.quiet
    return policyRules.countsHits && (quiet.hasTakenUses || catalog.keys.lookups.hits != quiet.lastUses.hits)
  }

  /// Nanoseconds. A round of upkeep and a checkpoint fit into the rest of the minute.
  private static let longestForgotten: UInt64 = 50_000_000_000

  private func round(_ body: (borrowing UpkeepLock.Held) throws(StoreError) -> Void) {
    upkeepLock.withLock { upkeep in
      if gate.isClosed { return }
      do throws(StoreError) { try body(upkeep) } catch { upkeep.state.schedule.putOff() }
    }
  }
}
