/// Checks of records, checkpoints, and the removal of entries that fail a check.
struct CheckpointParts {
  let checker: RecordChecker
  let payloads: PayloadFinder
  let lostRecords: LostRecords
  let logSizer: LogSizer
  let checkpointer: Checkpointer
  let readAhead: ReadAhead
  let entryRemover: EntryRemover

  init(_ context: StoreContext, _ basics: BasicParts, inline: [Location: InlineRecord]) {
    checker = RecordChecker(context, inline: inline, gate: basics.gate)
    payloads = PayloadFinder(context, checker: checker)
    lostRecords = LostRecords(context, meters: basics.meters, checker: checker, payloads: payloads)
    logSizer = LogSizer(context, gate: basics.gate)
    checkpointer = Checkpointer(
      context, gate: basics.gate, signal: basics.signal, meters: basics.meters, commits: basics.commits,
      syncer: basics.syncer, checker: checker, lostRecords: lostRecords, logSizer: logSizer)
    readAhead = ReadAhead(context)
    entryRemover = EntryRemover(
      context, gate: basics.gate, meters: basics.meters, commits: basics.commits, checker: checker,
      checkpointer: checkpointer, readAhead: readAhead)
  }
}
