/// Closes a store, and releases a store whose folder was replaced.
final class Closer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let meters: Meters
  private let syncer: Syncer
  private let checkpointer: Checkpointer
  private let retirement: SegmentRetirement
  private let expirer: Expirer
  private let reclaimer: Reclaimer
  private let roomRelease: RoomRelease
  private let stagedFiles: StagedFiles
  private let forgetter: Forgetter
  private let leftovers: LeftoverChecker
  private let useHints: UseHints
  private let useSaver: UseSaver

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ space: SpaceParts,
    _ reads: ReadParts, _ writes: WriteParts, leftovers: LeftoverChecker
  ) {
    self.context = context
    gate = basics.gate
    signal = basics.signal
    meters = basics.meters
    syncer = basics.syncer
    checkpointer = checkpoints.checkpointer
    retirement = space.retirement
    expirer = space.expirer
    reclaimer = space.reclaimer
    roomRelease = space.roomRelease
    stagedFiles = writes.stagedFiles
    forgetter = writes.forgetter
    self.leftovers = leftovers
    useHints = reads.useHints
    useSaver = basics.useSaver
  }

  /// Ends all work in the folder and releases its lock, so that a store in the same folder may be opened. Only for a
  /// removed store. Waits for a running round of upkeep.
  func standDown() {
    signal.stopTask()
    // With both locks taken, no thread is writing.
    upkeepLock.withLock { _ in commitLock.withLock { _ in gate.releaseLock() } }
  }

  /// Drops all entries, and all files that no get, put or Blob needs.
  func dropEverything() {
    forgetter.forgetAll()
    commitLock.withLock { held in
      held.state.writable.closeAll()
      held.state.writable.removeAllSpares()
      held.state.abortAllBodies()
      // A reservation does not keep its segment alive, so segments with reservations stay.
      for case let segment? in held.state.index.segments.all
      where held.state[segment].fill.pendingCount == 0 && held.state[segment].fill.exemptCount == 0
        && !catalog.segments.isPinned(segment.slot)
      {
        held.state.index.segments.remove(slot: segment.slot)
      }
    }
  }

  /// Makes all changes durable and closes the store. Writes a clean checkpoint unless leftovers of a crash are
  /// unchecked. Reads that have begun may finish.
  func close() throws(StoreError) {
    if gate.isForkedChild || gate.isReadOnly {
      if !gate.isForkedChild, !gate.isClosed { useHints.leave(isLast: true) }
      _ = gate.markClosed()
      return
    }
    guard gate.markClosing() else { return }
    commitLock.withLock { held in held.state.admissions.refuseAll(.closed) }
    leftovers.endTask()
    signal.stopTask()
    // A put may be about to take the upkeep lock, so this wait comes before it.
    if (try? gate.requireWritable(closing: true)) != nil { waitForPuts() }
    checkFewLeftovers()
    try upkeepLock.withLock { upkeep throws(StoreError) in
      defer {
        commitLock.withLock { _ in
          _ = gate.markClosed()
          gate.releaseLock()
        }
      }
      // A caller takes the return of this call as a promise of durability, so a failed store must throw.
      try gate.requireWritable(closing: true)
      meters.publishCounters()
      waitForPuts()
      stagedFiles.dropStagedFiles()
      try? expirer.removeExpiredWhileClosing(upkeep)
      try? retirement.removeOrphans(upkeep)
      _ = try? retirement.retireDeadSegments(upkeep)
      try? retirement.trimSealedSegments(upkeep)
      try? reclaimer.shrink(upkeep)
      _ = try? roomRelease.begin(upkeep)
      try writeLast(upkeep)
      saveUses(upkeep)
      try? roomRelease.finish(upkeep)
      try gate.requireNamed()
    }
  }

  /// Does the last write of a close. If all leftovers are checked, writes a checkpoint that marks the store as cleanly
  /// closed. Otherwise writes a checkpoint without this mark. If that checkpoint first had to read the heads of
  /// leftovers, only makes all changes durable: the log has them, and the next opening replays the log.
  private func writeLast(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let (isClean, isPrepared) = commitLock.withLock { held in
      (held.state.leftovers.unchecked.isEmpty, held.state.leftovers.hasFoundHeadless)
    }
    if !isClean, !isPrepared { return try syncer.makeAllDurable() }
    try checkpointer.writeCheckpoint(isClean: isClean, growsLog: false, upkeep)
  }

  private func saveUses(_ upkeep: borrowing UpkeepLock.Held) {
    let quiet = upkeep.state.quiet
    if quiet.hasTakenUses || catalog.keys.lookups.hits != quiet.lastUses.hits || upkeep.state.uses.hasLeftOut {
      useSaver.save(isLast: true, upkeep)
    }
  }

  /// Checks the remaining leftovers if they are few and no other thread checks them, so that a short opening after a
  /// crash ends with a clean close.
  private func checkFewLeftovers() {
    guard leftovers.uncheckedByteCount <= Closer.fewLeftovers else { return }
    leftovers.tryToCheckForClosing()
  }

  /// The largest number of leftover bytes that a close reads.
  private static let fewLeftovers = 1 << 20

  /// Waits until no put is filling its room. The commit of such a put is completed, unless it needs more room. During
  /// the wait, the store keeps the lock of its folder. Does not wait for the room of unfinished bodies: no frame names
  /// that room, so later writes to it are harmless.
  private func waitForPuts() {
    while commitLock.withLock({ held in
      held.state.index.segments.all.contains { segment in
        segment.map { held.state[$0].fill.pendingCount > held.state[$0].fill.exemptCount } ?? false
      }
    }) {
      environment.clock.sleep(milliseconds: 1)
    }
  }

  /// Ends the store as the death of the process would: nothing is written.
  func abandon() {
    leftovers.stopTask()
    signal.stopTask()
    if gate.markClosed() { gate.releaseLock() }
  }
}
