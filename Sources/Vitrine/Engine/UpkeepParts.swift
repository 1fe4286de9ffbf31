/// The work in the background and at the ends of an opening, and calls for the whole store.
struct UpkeepParts {
  let trimmer: Trimmer
  let budgets: Budgets
  let leftovers: LeftoverChecker
  let closer: Closer
  let failedSyncRecovery: FailedSyncRecovery
  let logEraser: LogEraser
  let fullCompaction: FullCompaction
  let maintainer: Maintainer
  let reporter: Reporter
  let takeover: Takeover
  let verifier: Verifier

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ space: SpaceParts,
    _ reads: ReadParts, _ writes: WriteParts
  ) {
    trimmer = Trimmer(
      context, gate: basics.gate, signal: basics.signal, lifetimes: basics.lifetimes, retirement: space.retirement,
      evictor: space.evictor, compactor: space.compactor, reclaimer: space.reclaimer, roomRelease: space.roomRelease,
      supply: writes.supply, diskWatch: space.diskWatch, useHints: reads.useHints)
    budgets = Budgets(
      context, gate: basics.gate, signal: basics.signal, retirement: space.retirement, reclaimer: space.reclaimer,
      roomRelease: space.roomRelease, trimmer: trimmer, reader: reads.reader, diskWatch: space.diskWatch,
      useHints: reads.useHints)
    leftovers = LeftoverChecker(
      context, gate: basics.gate, syncer: basics.syncer, checker: checkpoints.checker,
      lostRecords: checkpoints.lostRecords, entryRemover: checkpoints.entryRemover)
    closer = Closer(
      context, gate: basics.gate, signal: basics.signal, meters: basics.meters, syncer: basics.syncer,
      checkpointer: checkpoints.checkpointer, retirement: space.retirement, expirer: space.expirer,
      reclaimer: space.reclaimer, roomRelease: space.roomRelease, stagedFiles: writes.stagedFiles,
      forgetter: writes.forgetter, leftovers: leftovers, useHints: reads.useHints)
    failedSyncRecovery = FailedSyncRecovery(
      context, gate: basics.gate, preparer: basics.preparer, meters: basics.meters, checker: checkpoints.checker,
      payloads: checkpoints.payloads, checkpointRoom: space.checkpointRoom, committer: writes.committer,
      reader: reads.reader, putter: writes.putter)
    logEraser = LogEraser(
      context, gate: basics.gate, checkpointer: checkpoints.checkpointer, logSizer: checkpoints.logSizer)
    fullCompaction = FullCompaction(
      context, gate: basics.gate, retirement: space.retirement, expirer: space.expirer, compactor: space.compactor,
      reclaimer: space.reclaimer, roomRelease: space.roomRelease, supply: writes.supply, leftovers: leftovers,
      logEraser: logEraser)
    maintainer = Maintainer(
      context, gate: basics.gate, signal: basics.signal, meters: basics.meters, lifetimes: basics.lifetimes,
      syncer: basics.syncer, checkpointer: checkpoints.checkpointer, retirement: space.retirement,
      expirer: space.expirer, evictor: space.evictor, compactor: space.compactor, budgets: budgets,
      roomRelease: space.roomRelease, mappedSegments: reads.mappedSegments, supply: writes.supply, leftovers: leftovers)
    reporter = Reporter(context, gate: basics.gate, meters: basics.meters, expirer: space.expirer)
    takeover = Takeover(
      context, gate: basics.gate, lifetimes: basics.lifetimes, commits: basics.commits,
      checkpointer: checkpoints.checkpointer, budgets: budgets, failedSyncRecovery: failedSyncRecovery)
    verifier = Verifier(context, gate: basics.gate, checker: checkpoints.checker, payloads: checkpoints.payloads)
  }
}
