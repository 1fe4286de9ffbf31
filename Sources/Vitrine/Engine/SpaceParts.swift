/// Expiry, eviction, compaction, and the release of room.
struct SpaceParts {
  let expirer: Expirer
  let evictor: Evictor
  let groupLimiter: GroupLimiter
  let retirement: SegmentRetirement
  let roomRelease: RoomRelease
  let recordWriter: RecordWriter
  let compactor: Compactor
  let cleaner: SegmentCleaner
  let reclaimer: Reclaimer
  let checkpointRoom: CheckpointRoom
  let diskWatch: DiskWatch

  init(_ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts) {
    expirer = Expirer(
      context, gate: basics.gate, signal: basics.signal, lifetimes: basics.lifetimes, commits: basics.commits,
      checker: checkpoints.checker, checkpointer: checkpoints.checkpointer, entryRemover: checkpoints.entryRemover)
    evictor = Evictor(
      context, gate: basics.gate, commits: basics.commits, checkpointer: checkpoints.checkpointer,
      readAhead: checkpoints.readAhead, expirer: expirer)
    groupLimiter = GroupLimiter(context, gate: basics.gate, evictor: evictor)
    retirement = SegmentRetirement(
      context, gate: basics.gate, checker: checkpoints.checker, checkpointer: checkpoints.checkpointer)
    roomRelease = RoomRelease(
      context, gate: basics.gate, syncer: basics.syncer, checkpointer: checkpoints.checkpointer, retirement: retirement,
      logSizer: checkpoints.logSizer, useSaver: basics.useSaver)
    recordWriter = RecordWriter(
      context, gate: basics.gate, signal: basics.signal, meters: basics.meters)
    compactor = Compactor(
      context, gate: basics.gate, commits: basics.commits, recordWriter: recordWriter, syncer: basics.syncer,
      checker: checkpoints.checker, lostRecords: checkpoints.lostRecords, checkpointer: checkpoints.checkpointer,
      entryRemover: checkpoints.entryRemover, retirement: retirement)
    cleaner = SegmentCleaner(
      context, gate: basics.gate, meters: basics.meters, expirer: expirer, evictor: evictor, compactor: compactor,
      retirement: retirement)
    reclaimer = Reclaimer(context, retirement: retirement, evictor: evictor, compactor: compactor, cleaner: cleaner)
    diskWatch = DiskWatch(context)
    checkpointRoom = CheckpointRoom(context, gate: basics.gate, reclaimer: reclaimer)
  }
}
