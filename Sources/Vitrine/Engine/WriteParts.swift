/// Puts, batches, bodies, changes of metadata, and removals.
struct WriteParts {
  let keyFinder: KeyFinder
  let originals: OriginalSources
  let committer: Committer
  let supply: SegmentSupply
  let deduplicator: Deduplicator
  let stagedFiles: StagedFiles
  let bodies: BodyRegistry
  let putter: Putter
  let batches: BatchWriter
  let metadata: MetadataChanger
  let remover: Remover
  let forgetter: Forgetter

  init(
    _ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts, _ space: SpaceParts,
    _ reads: ReadParts
  ) {
    keyFinder = KeyFinder(context, checker: checkpoints.checker)
    originals = OriginalSources(context, evictor: space.evictor, keyFinder: keyFinder)
    let limits = EntryLimits(
      context, gate: basics.gate, evictor: space.evictor, groupLimiter: space.groupLimiter, keyFinder: keyFinder)
    committer = Committer(
      context, gate: basics.gate, commits: basics.commits, checker: checkpoints.checker,
      checkpointer: checkpoints.checkpointer, readAhead: checkpoints.readAhead,
      checkpointRoom: space.checkpointRoom, keyFinder: keyFinder, limits: limits, originals: originals)
    supply = SegmentSupply(
      context, gate: basics.gate, meters: basics.meters, commits: basics.commits,
      checkpointer: checkpoints.checkpointer, reclaimer: space.reclaimer, checkpointRoom: space.checkpointRoom,
      mappedSegments: reads.mappedSegments, roomQueue: basics.roomQueue, diskWatch: space.diskWatch)
    deduplicator = Deduplicator(
      context, gate: basics.gate, checker: checkpoints.checker, payloads: checkpoints.payloads)
    stagedFiles = StagedFiles(
      context, gate: basics.gate, checkpointRoom: space.checkpointRoom, preparer: basics.preparer,
      meters: basics.meters, commits: basics.commits, checkpointer: checkpoints.checkpointer,
      reclaimer: space.reclaimer, mappedSegments: reads.mappedSegments, roomQueue: basics.roomQueue)
    bodies = BodyRegistry(
      context, gate: basics.gate, preparer: basics.preparer, signal: basics.signal, roomQueue: basics.roomQueue,
      supply: supply, stagedFiles: stagedFiles)
    putter = Putter(
      context, basics, space, reads, committer: committer, supply: supply, deduplicator: deduplicator, bodies: bodies)
    batches = BatchWriter(
      context, gate: basics.gate, preparer: basics.preparer, meters: basics.meters, syncer: basics.syncer,
      roomQueue: basics.roomQueue, committer: committer, putter: putter)
    metadata = MetadataChanger(
      context, gate: basics.gate, syncer: basics.syncer, payloads: checkpoints.payloads,
      entryRemover: checkpoints.entryRemover, committer: committer, reader: reads.reader, putter: putter)
    remover = Remover(context, basics, checkpoints, reads, committer: committer, bodies: bodies)
    forgetter = Forgetter(
      context, gate: basics.gate, checker: checkpoints.checker, committer: committer, walk: reads.walk)
  }
}
