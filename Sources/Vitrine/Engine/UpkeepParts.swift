/// The work in the background and at the end of an opening, and calls for the whole store.
struct UpkeepParts {
  let trimmer: Trimmer
  let budgets: Budgets
  let leftovers: LeftoverChecker
  let closer: Closer
  let logEraser: LogEraser
  let fullCompaction: FullCompaction
  let maintainer: Maintainer
  let flusher: EntryFlusher
  let reporter: Reporter
  let verifier: Verifier

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ space: SpaceParts,
    _ reads: ReadParts, _ writes: WriteParts
  ) {
    trimmer = Trimmer(context, basics, space, reads, writes)
    budgets = Budgets(context, basics, space, reads, trimmer: trimmer)
    leftovers = LeftoverChecker(
      context, gate: basics.gate, syncer: basics.syncer, checker: checkpoints.checker,
      lostRecords: checkpoints.lostRecords, entryRemover: checkpoints.entryRemover)
    closer = Closer(context, basics, checkpoints, space, reads, writes, leftovers: leftovers)
    logEraser = LogEraser(
      context, gate: basics.gate, checkpointer: checkpoints.checkpointer, logSizer: checkpoints.logSizer)
    fullCompaction = FullCompaction(
      context, gate: basics.gate, retirement: space.retirement, expirer: space.expirer, compactor: space.compactor,
      reclaimer: space.reclaimer, roomRelease: space.roomRelease, supply: writes.supply, leftovers: leftovers,
      logEraser: logEraser)
    maintainer = Maintainer(context, basics, checkpoints, space, reads, writes, budgets: budgets, leftovers: leftovers)
    flusher = EntryFlusher(
      context, gate: basics.gate, syncer: basics.syncer, payloads: checkpoints.payloads, reader: reads.reader)
    reporter = Reporter(context, gate: basics.gate, meters: basics.meters, expirer: space.expirer)
    verifier = Verifier(context, gate: basics.gate, checker: checkpoints.checker, payloads: checkpoints.payloads)
  }
}
