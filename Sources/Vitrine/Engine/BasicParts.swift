/// The parts that all others use: the gate for changes, the log, syncs, meters and signals.
struct BasicParts {
  let gate: WriteGate
  let meters: Meters
  let signal: UpkeepSignal
  let syncer: Syncer
  let lifetimes: Lifetimes
  let preparer: PutPreparer
  let commits: CommitLog
  let roomQueue: RoomQueue
  let useSaver: UseSaver

  init(_ context: StoreContext, lockFile: (any File)?, counters: Counters) {
    gate = WriteGate(context, lockFile: lockFile)
    meters = Meters(context, counters: counters, gate: gate)
    signal = UpkeepSignal(context)
    syncer = Syncer(context, gate: gate)
    lifetimes = Lifetimes(context, gate: gate, signal: signal)
    preparer = PutPreparer(context)
    commits = CommitLog(context, gate: gate, signal: signal, lifetimes: lifetimes)
    roomQueue = RoomQueue(context, gate: gate)
    useSaver = UseSaver(context, gate: gate, meters: meters)
  }
}
