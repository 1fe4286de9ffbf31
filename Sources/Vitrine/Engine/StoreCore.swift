/// The engine of one open store, composed of parts. Each part has one concern and the state that the concern needs.
///
/// A part is made from the parts that it uses, so no part uses a part of a group that is made later. `StoreLocks.swift`
/// has the locks, the state that each of them guards, and the order in which threads take them.
final class StoreCore: Sendable {
  let context: StoreContext
  let basics: BasicParts
  let checkpoints: CheckpointParts
  let space: SpaceParts
  let reads: ReadParts
  let writes: WriteParts
  let upkeep: UpkeepParts

  init(_ context: StoreContext, loaded: LoadedStore, lockFile: (any File)?, counters: Counters) {
    self.context = context
    basics = BasicParts(context, lockFile: lockFile, counters: counters)
    checkpoints = CheckpointParts(context, basics, inline: loaded.inline)
    space = SpaceParts(context, basics, checkpoints)
    reads = ReadParts(context, basics, checkpoints)
    writes = WriteParts(context, basics, checkpoints, space, reads)
    upkeep = UpkeepParts(context, basics, checkpoints, space, reads, writes)
  }

  deinit {
    if basics.gate.isForkedChild { return }
    upkeep.leftovers.endTask()
    basics.signal.stopTask()
  }

  /// Starts the work in the background, at the end of an opening. Throws `system` if no thread can be started.
  func startUpkeep() throws(StoreError) {
    try basics.signal.startTask { [weak self] in self?.maintain() ?? .whenWoken }
    try upkeep.leftovers.startCheckingLeftovers()
  }

  /// Does one round of upkeep. Returns when the next one is due.
  func maintain() -> NextStep {
    if let next = upkeep.maintainer.lastLook() { return next }
    basics.signal.stayAwake()
    reads.useHints.takeIn()
    upkeep.maintainer.maintain()
    return upkeep.maintainer.nextStep()
  }

  static func open(
    at path: String, options: StoreOptions, environment: Environment
  ) throws(StoreError) -> StoreCore {
    try Opening(path: path, options: options, environment: environment).run()
  }
}
