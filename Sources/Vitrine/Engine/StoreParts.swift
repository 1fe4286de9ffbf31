/// All parts of one store. Each group is made from those before it.
struct StoreParts: Sendable {
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
}
