/// The engine of one open store, composed of parts. Each part has one concern and the state that the concern needs.
///
/// A part is made from the parts that it uses, so no part uses one below it in this list. The levels in
/// `StoreLocks.swift`, each a ``LockLevel``, define the state that each lock guards and the order in which threads take
/// the locks.
final class StoreCore: Sendable {
  let context: StoreContext
  let gate: WriteGate
  let preparer: PutPreparer
  let meters: Meters
  let syncer: Syncer
  let roomQueue: RoomQueue
  let signal: UpkeepSignal
  let lifetimes: Lifetimes
  let commits: CommitLog
  let checker: RecordChecker
  let payloads: PayloadFinder
  let lostRecords: LostRecords
  let logSizer: LogSizer
  let checkpointer: Checkpointer
  let readAhead: ReadAhead
  let entryRemover: EntryRemover
  let expirer: Expirer
  let evictor: Evictor
  let retirement: SegmentRetirement
  let roomRelease: RoomRelease
  let recordWriter: RecordWriter
  let compactor: Compactor
  let reclaimer: Reclaimer
  let checkpointRoom: CheckpointRoom
  let keyFinder: KeyFinder
  let originals: OriginalSources
  let committer: Committer
  let mappedSegments: MappedSegments
  let supply: SegmentSupply
  let deduplicator: Deduplicator
  let stagedFiles: StagedFiles
  let bodies: BodyRegistry
  let reader: Reader
  let putter: Putter
  let batches: BatchWriter
  let budgets: Budgets
  let trimmer: Trimmer
  let walk: EntryWalk
  let forgetter: Forgetter
  let leftovers: LeftoverChecker
  let closer: Closer
  let failedSyncRecovery: FailedSyncRecovery
  let logEraser: LogEraser
  let fullCompaction: FullCompaction
  let maintainer: Maintainer
  let metadata: MetadataChanger
  let refresher: Refresher
  let remover: Remover
  let reporter: Reporter
  let takeover: Takeover
  let verifier: Verifier

  init(_ context: StoreContext, loaded: LoadedStore, lockFile: (any File)?, counters: Counters) {
    self.context = context
    gate = WriteGate(context, lockFile: lockFile)
    preparer = PutPreparer(context)
    meters = Meters(context, counters: counters, gate: gate)
    syncer = Syncer(context, gate: gate)
    roomQueue = RoomQueue(context, gate: gate)
    signal = UpkeepSignal(context)
    lifetimes = Lifetimes(context, gate: gate)
    commits = CommitLog(context, gate: gate, signal: signal, lifetimes: lifetimes)
    checker = RecordChecker(context, inline: loaded.inline, gate: gate)
    payloads = PayloadFinder(context, checker: checker)
    lostRecords = LostRecords(context, meters: meters, checker: checker, payloads: payloads)
    logSizer = LogSizer(context, gate: gate)
    checkpointer = Checkpointer(
      context, gate: gate, signal: signal, meters: meters, commits: commits, syncer: syncer, checker: checker,
      lostRecords: lostRecords, logSizer: logSizer)
    readAhead = ReadAhead(context)
    entryRemover = EntryRemover(
      context, gate: gate, meters: meters, commits: commits, checker: checker, checkpointer: checkpointer,
      readAhead: readAhead)
    expirer = Expirer(
      context, gate: gate, signal: signal, lifetimes: lifetimes, commits: commits, checker: checker,
      checkpointer: checkpointer, entryRemover: entryRemover)
    evictor = Evictor(
      context, gate: gate, commits: commits, checkpointer: checkpointer, readAhead: readAhead, expirer: expirer)
    retirement = SegmentRetirement(context, gate: gate, checker: checker, checkpointer: checkpointer)
    roomRelease = RoomRelease(
      context, gate: gate, syncer: syncer, checkpointer: checkpointer, retirement: retirement, logSizer: logSizer)
    recordWriter = RecordWriter(context, gate: gate, meters: meters)
    compactor = Compactor(
      context, gate: gate, commits: commits, recordWriter: recordWriter, syncer: syncer, checker: checker,
      lostRecords: lostRecords, checkpointer: checkpointer, entryRemover: entryRemover, retirement: retirement)
    let cleaner = SegmentCleaner(
      context, gate: gate, meters: meters, expirer: expirer, evictor: evictor, compactor: compactor,
      retirement: retirement)
    reclaimer = Reclaimer(
      context, retirement: retirement, evictor: evictor, compactor: compactor, cleaner: cleaner)
    checkpointRoom = CheckpointRoom(context, gate: gate, reclaimer: reclaimer)
    keyFinder = KeyFinder(context, checker: checker)
    originals = OriginalSources(context, evictor: evictor, keyFinder: keyFinder)
    committer = Committer(
      context, gate: gate, commits: commits, checker: checker, checkpointer: checkpointer, readAhead: readAhead,
      evictor: evictor, checkpointRoom: checkpointRoom, keyFinder: keyFinder, originals: originals)
    mappedSegments = MappedSegments(context, gate: gate)
    supply = SegmentSupply(
      context, gate: gate, meters: meters, commits: commits, checkpointer: checkpointer, reclaimer: reclaimer,
      checkpointRoom: checkpointRoom, mappedSegments: mappedSegments, roomQueue: roomQueue)
    deduplicator = Deduplicator(context, gate: gate, checker: checker, payloads: payloads)
    stagedFiles = StagedFiles(
      context, gate: gate, checkpointRoom: checkpointRoom, preparer: preparer, meters: meters, commits: commits,
      checkpointer: checkpointer, reclaimer: reclaimer, mappedSegments: mappedSegments, roomQueue: roomQueue)
    bodies = BodyRegistry(
      context, gate: gate, preparer: preparer, signal: signal, roomQueue: roomQueue, supply: supply,
      stagedFiles: stagedFiles)
    reader = Reader(
      context, gate: gate, lifetimes: lifetimes, checker: checker, payloads: payloads, entryRemover: entryRemover,
      mappedSegments: mappedSegments)
    putter = Putter(
      context, gate: gate, committer: committer, preparer: preparer, meters: meters, lifetimes: lifetimes,
      recordWriter: recordWriter, syncer: syncer, checker: checker, roomQueue: roomQueue, supply: supply,
      deduplicator: deduplicator, bodies: bodies, reader: reader)
    batches = BatchWriter(
      context, gate: gate, preparer: preparer, meters: meters, syncer: syncer, roomQueue: roomQueue,
      committer: committer, putter: putter)
    trimmer = Trimmer(
      context, gate: gate, signal: signal, lifetimes: lifetimes, retirement: retirement, evictor: evictor,
      compactor: compactor, reclaimer: reclaimer, roomRelease: roomRelease, supply: supply)
    budgets = Budgets(
      context, gate: gate, retirement: retirement, reclaimer: reclaimer, roomRelease: roomRelease,
      trimmer: trimmer, reader: reader)
    walk = EntryWalk(context, lifetimes: lifetimes, checker: checker)
    forgetter = Forgetter(context, gate: gate, checker: checker, committer: committer, walk: walk)
    leftovers = LeftoverChecker(
      context, gate: gate, syncer: syncer, checker: checker, lostRecords: lostRecords, entryRemover: entryRemover)
    closer = Closer(
      context, gate: gate, signal: signal, meters: meters, syncer: syncer, checkpointer: checkpointer,
      retirement: retirement, expirer: expirer, reclaimer: reclaimer, roomRelease: roomRelease,
      stagedFiles: stagedFiles, forgetter: forgetter, leftovers: leftovers)
    failedSyncRecovery = FailedSyncRecovery(
      context, gate: gate, preparer: preparer, meters: meters, checker: checker, payloads: payloads,
      checkpointRoom: checkpointRoom, committer: committer, reader: reader, putter: putter)
    logEraser = LogEraser(context, gate: gate, checkpointer: checkpointer)
    fullCompaction = FullCompaction(
      context, gate: gate, retirement: retirement, expirer: expirer, compactor: compactor, reclaimer: reclaimer,
      roomRelease: roomRelease, supply: supply, leftovers: leftovers, logEraser: logEraser)
    maintainer = Maintainer(
      context, gate: gate, signal: signal, meters: meters, lifetimes: lifetimes, syncer: syncer,
      checkpointer: checkpointer, retirement: retirement, expirer: expirer, evictor: evictor, compactor: compactor,
      reclaimer: reclaimer, roomRelease: roomRelease, mappedSegments: mappedSegments, supply: supply,
      leftovers: leftovers)
    metadata = MetadataChanger(
      context, gate: gate, syncer: syncer, payloads: payloads, entryRemover: entryRemover, committer: committer,
      reader: reader, putter: putter)
    refresher = Refresher(context, gate: gate, lifetimes: lifetimes, checker: checker, mappedSegments: mappedSegments)
    remover = Remover(
      context, gate: gate, signal: signal, commits: commits, syncer: syncer, checker: checker,
      checkpointer: checkpointer, committer: committer, entryRemover: entryRemover, bodies: bodies, walk: walk)
    reporter = Reporter(context, gate: gate, meters: meters, expirer: expirer)
    takeover = Takeover(
      context, gate: gate, lifetimes: lifetimes, commits: commits, checkpointer: checkpointer, budgets: budgets,
      failedSyncRecovery: failedSyncRecovery)
    verifier = Verifier(context, gate: gate, checker: checker, payloads: payloads)
  }

  deinit {
    if gate.isForkedChild { return }
    leftovers.leftoverTask.withLock { $0 }?.end()
    signal.background.withLock { $0 }?.stop()
  }

  static func open(
    at path: String, options: StoreOptions, environment: Environment
  ) throws(StoreError) -> StoreCore {
    try Opening(path: path, options: options, environment: environment).run()
  }
}
