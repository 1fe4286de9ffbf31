/// Closes a store.
///
/// What a store does for itself, off its callers' threads.
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
  private let stagedFiles: StagedFiles
  private let forgetter: Forgetter
  private let leftovers: LeftoverChecker

  init(
    _ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, meters: Meters, syncer: Syncer,
    checkpointer: Checkpointer, retirement: SegmentRetirement, expirer: Expirer, reclaimer: Reclaimer,
    stagedFiles: StagedFiles, forgetter: Forgetter, leftovers: LeftoverChecker
  ) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.meters = meters
    self.syncer = syncer
    self.checkpointer = checkpointer
    self.retirement = retirement
    self.expirer = expirer
    self.reclaimer = reclaimer
    self.stagedFiles = stagedFiles
    self.forgetter = forgetter
    self.leftovers = leftovers
  }

  /// Ends all work in the folder and lets its lock go: a store in the same folder may be opened. Waits for a round of
  /// upkeep. Only of a store that was removed.
  func standDown() {
    signal.background.withLock { $0 }?.stop()
    // Behind both locks nothing is being written.
    upkeepLock.withLock { _ in commitLock.withLock { _ in gate.releaseLock() } }
  }

  /// Lets go of all entries, and of all files but those that a get or a Blob still needs.
  func dismiss() {
    forgetter.forgetAll()
    commitLock.withLock { held in
      held.state.writable.closeAll()
      held.state.writable.removeAllSpares()
      held.state.abortAllBodies()
      // A reservation does not own its segment.
      for case let segment? in catalog.segments.segments
      where segment.pendingCount == 0 && segment.lentCount == 0 && !catalog.segments.isPinned(segment.slot) {
        catalog.segments.remove(slot: segment.slot)
      }
    }
  }

  /// Makes everything durable, by a clean checkpoint unless leftovers of a crash are unchecked, and lets the store go. Reads
  /// that still stand may finish.
  func close() throws(StoreError) {
    if gate.isForkedChild || gate.isReadOnly {
      _ = gate.markClosed()
      return
    }
    guard gate.markClosing() else { return }
    commitLock.withLock { held in held.state.admissions.refuseAll(.closed) }
    leftovers.leftoverTask.withLock { $0 }?.end()
    signal.background.withLock { $0 }?.stop()
    // Some of them may be about to take the upkeep lock.
    if (try? gate.requireWritable(closing: true)) != nil { waitForPuts() }
    checkFewLeftovers()
    try upkeepLock.withLock { upkeep throws(StoreError) in
      defer {
        commitLock.withLock { _ in
          _ = gate.markClosed()
          gate.releaseLock()
        }
      }
      // The caller takes the return of this call for durability.
      try gate.requireWritable(closing: true)
      meters.publishCounters()
      waitForPuts()
      stagedFiles.dropStagedFiles()
      try? expirer.removeExpiredWhileClosing(upkeep)
      try? retirement.removeOrphans(upkeep)
      try? retirement.retireDeadSegments(upkeep)
      try? retirement.trimSealedSegments(upkeep)
      try? reclaimer.shrink(upkeep)
      try writeLast(upkeep)
      try gate.requireNamed()
    }
  }

  /// The last write of a close. With leftovers unchecked no checkpoint says that the store was closed well, and one that would
  /// have to read their heads first is not written at all: the log has everything, and the next opening goes on from there.
  private func writeLast(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let (isClean, isPrepared) = commitLock.withLock { held in
      (held.state.leftovers.unchecked.isEmpty, held.state.leftovers.hasFoundHeadless)
    }
    if !isClean, !isPrepared { return try syncer.makeAllDurable() }
    try checkpointer.writeCheckpoint(isClean: isClean, upkeep)
  }

  /// Checks the rest of the leftovers if it is small and no thread checks it, so that a short opening behind a crash ends
  /// with a clean close.
  private func checkFewLeftovers() {
    guard leftovers.uncheckedByteCount <= Closer.fewLeftovers else { return }
    leftovers.tryToCheckForClosing()
  }

  /// Bytes that a close may read.
  private static let fewLeftovers = 1 << 20

  /// Puts that are filling their room find the store closed when they come to commit; until then the lock stays. Lent
  /// room is not waited for: it was never named, and whoever still writes to it harms nobody.
  private func waitForPuts() {
    while commitLock.withLock({ held in
      catalog.segments.segments.contains { ($0?.pendingCount ?? 0) > ($0?.lentCount ?? 0) }
    }) {
      environment.clock.sleep(milliseconds: 1)
    }
  }

  /// Lets the store go as the death of the process would: nothing is written.
  func abandon() {
    leftovers.leftoverTask.withLock { $0 }?.stop()
    signal.background.withLock { $0 }?.stop()
    if gate.markClosed() { gate.releaseLock() }
  }
}
