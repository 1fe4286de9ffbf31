/// Gets, enumeration, and the refresh of a read-only opening.
struct ReadParts {
  let mappedSegments: MappedSegments
  let reader: Reader
  let walk: EntryWalk
  let refresher: Refresher
  let useHints: UseHints
  let ranges: RangeReader

  init(_ context: StoreContext, _ basics: BasicParts, _ checkpoints: CheckpointParts) {
    mappedSegments = MappedSegments(context, gate: basics.gate)
    reader = Reader(
      context, gate: basics.gate, lifetimes: basics.lifetimes, checker: checkpoints.checker,
      payloads: checkpoints.payloads, entryRemover: checkpoints.entryRemover, mappedSegments: mappedSegments)
    ranges = RangeReader(
      context, gate: basics.gate, lifetimes: basics.lifetimes, payloads: checkpoints.payloads, reader: reader)
    walk = EntryWalk(context, lifetimes: basics.lifetimes, checker: checkpoints.checker)
    useHints = UseHints(context, gate: basics.gate, lifetimes: basics.lifetimes)
    refresher = Refresher(
      context, gate: basics.gate, lifetimes: basics.lifetimes, checker: checkpoints.checker,
      mappedSegments: mappedSegments, useHints: useHints)
  }
}
