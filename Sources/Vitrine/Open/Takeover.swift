/// Prepares a loaded store for its writer. Only the opening uses it.
final class Takeover: StorePart {
  let context: StoreContext
  private let parts: StoreParts
  private let lifetimes: Lifetimes
  private let commits: CommitLog
  private let checkpointer: Checkpointer
  private let loaded: LoadedStore
  private let lockFile: any File
  /// True if the options of this opening change the identity of the store.
  private let isChanged: Bool
  /// True if a sync failed in an earlier opening.
  private let isMarked: Bool

  init(_ parts: StoreParts, _ loaded: LoadedStore, lockFile: any File, isChanged: Bool, isMarked: Bool) {
    context = parts.context
    self.parts = parts
    lifetimes = parts.basics.lifetimes
    commits = parts.basics.commits
    checkpointer = parts.checkpoints.checkpointer
    self.loaded = loaded
    self.lockFile = lockFile
    self.isChanged = isChanged
    self.isMarked = isMarked
  }

  /// Does all work that a writer needs before it serves calls. Needs free space on the disk only if a checkpoint file
  /// is missing or too short, or if the area of the index has too few free blocks.
  func run() throws(StoreError) {
    if wal == nil { throw .readOnly }
    try commitLock.withLock { held throws(StoreError) in
      held.state.index.dropRetired()
      held.state.trackStyles()
      // A segment number is never used twice, not even one that only an orphan file carries.
      for case let id? in loaded.orphans.map(SegmentHeader.segment(ofFile:)) { held.state.index.noteSegment(id) }
      try takeSegments(isClean: loaded.isClean, held)
    }
    try upkeepLock.withLock { upkeep throws(StoreError) in try mendCheckpointFiles(upkeep) }
    if isChanged || loaded.storeFileNeedsHealing {
      try parts.upkeep.budgets.write(identity)
      let fixed = Adoption.fixedByteCount(folders.root)
      commitLock.withLock { held in held.state.ledger.add(max(0, fixed - held.state.ledger[.rootFiles]), to: .rootFiles)
      }
    }
    if isMarked { try FailedSyncRecovery(parts).rewriteUnvouchedRecords() }
    let isLogFull = commitLock.withLock { held in held.state.log.freeCount == 0 }
    if isLogFull || isMarked || isChanged || loaded.report.kind == .rebuilt || loaded.report.mayHaveLostRemovals
      || loaded.report.droppedCount > 0 || loaded.report.hasDroppedPayloads
    {
      // The checkpoint does not vouch for unchecked records.
      try checkpointer.checkpoint()
      loaded.log.scan.eraseInvalidHeaders(store: identity.store)
      // If the older checkpoint has an unreadable header, the next opening would mistrust this checkpoint.
      if loaded.report.kind == .rebuilt { try eraseOlderCheckpoint() }
    }
    commitLock.withLock { held in if held.state.leftovers.unchecked.isEmpty { held.state.index.forgetReplayed() } }
    // This reading of the clock dates the replayed uses: they happened before now.
    lifetimes.noteUseTime()
    if isMarked {
      do throws(SystemError) {
        try lockFile.write(LockFile.contents(isMarked: false), at: 0)
        try lockFile.sync()
      } catch {
        throw .system(error)
      }
    }
  }

  private func eraseOlderCheckpoint() throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in try checkpointer.eraseOlderCheckpoint(upkeep) }
  }

  /// Seals the open segments of streams that the present policy does not use.
  private func sealUnusedStreams(_ held: borrowing CommitLock.Held) throws(StoreError) {
    for stream in StreamKind.allCases where stream.isReturned && !held.state.hasReturnedStreams {
      guard let segment = held.state.writable[stream],
        try commits.record([.segmentSealed(slot: segment.slot, byteCount: held.state[segment].byteCount)], held)
      else { continue }
      held.state.closeSegment(of: stream)
    }
  }

  /// Takes over the segments that take records or may hold unchecked ones.
  private func takeSegments(isClean: Bool, _ held: borrowing CommitLock.Held) throws(StoreError) {
    let segments = held.state.index.segments.all.compactMap { $0 }
    for segment in segments where held.state[segment].state == .spare && segment.isAttached {
      held.state.writable.addSpare(segment)
    }
    let open = segments.filter { held.state[$0].state == .open }
    if isClean {
      for segment in open { held.state.writable.open(segment, for: held.state[segment].stream) }
      try sealUnusedStreams(held)
      return
    }
    // The bytes behind the last valid record may be half a record, so nothing is appended there.
    let changes = open.map { Change.segmentSealed(slot: $0.slot, byteCount: held.state[$0].byteCount) }
    if held.state.log.freeCount == 0 {
      // No log file is free, so a checkpoint records the change before any frame.
      held.state.index.apply(changes, sequence: 0, isChecked: false)
    } else if !changes.isEmpty {
      _ = try commits.record(changes, held)
    }
    let told = held.state.index.leastReplayedOffsets()
    for segment in segments where held.state[segment].state == .sealed && segment.isAttached {
      let end = held.state[segment].fill.tail
      guard end > catalog.segments.vouchedUpTo(segment.slot) else { continue }
      held.state.leftovers.add(
        Leftover(slot: segment.slot, id: segment.id, end: end, toldFrom: told[segment.slot] ?? .max))
      // Writes of the previous process may not be durable, so a flush must sync this segment.
      held.state[segment].sync.owe()
    }
  }

  private func mendCheckpointFiles(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let needed = commitLock.withLock { held in
      // The changes of recovery are in no frame, or in frames of a log that was longer.
      held.state.indexRoom(moreSegments: 0, moreWords: held.state.index.journalWords)
    }
    var growth = try Adoption.mend(&upkeep.state.checkpoints, in: folders.checkpoints, needed: needed.fileByteCount)
    growth += try Adoption.mend(&upkeep.state.pieces, needed: needed.blockCount)
    commitLock.withLock { held in
      held.state.ledger.add(growth, to: .checkpoints)
      held.state.checkpoint.set(room: upkeep.state.indexRoom)
    }
  }
}
