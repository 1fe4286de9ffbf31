/// Prepares a loaded store for its writer.
final class Takeover: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let lifetimes: Lifetimes
  private let commits: CommitLog
  private let checkpointer: Checkpointer
  private let budgets: Budgets
  private let failedSyncRecovery: FailedSyncRecovery

  init(
    _ context: StoreContext, gate: WriteGate, lifetimes: Lifetimes, commits: CommitLog, checkpointer: Checkpointer,
    budgets: Budgets, failedSyncRecovery: FailedSyncRecovery
  ) {
    self.context = context
    self.gate = gate
    self.lifetimes = lifetimes
    self.commits = commits
    self.checkpointer = checkpointer
    self.budgets = budgets
    self.failedSyncRecovery = failedSyncRecovery
  }

  /// Does all work that a writer needs before it serves calls. Needs no free space on the disk.
  func adopt(
    _ loaded: LoadedStore, isChanged: Bool, isMarked: Bool, lockFile: any File
  ) throws(StoreError) {
    guard let wal else { throw .readOnly }
    catalog.dropRetired()
    // A segment number is never used twice, not even one that only an orphan file carries.
    for case let id? in loaded.orphans.map(SegmentHeader.segment(ofFile:)) {
      catalog.nextSegment = max(catalog.nextSegment, id &+ 1)
    }
    let segments = catalog.segments.segments.compactMap { $0 }
    commitLock.withLock { held in
      for segment in segments where segment.state == .spare && segment.isAttached {
        held.state.writable.addSpare(segment)
      }
    }
    if loaded.isClean {
      commitLock.withLock { held in
        for segment in segments where segment.state == .open { held.state.writable.open(segment, for: segment.stream) }
      }
    } else {
      // The bytes behind the last valid record may be half a record, so nothing is appended there.
      let changes = segments.filter { $0.state == .open }.map {
        Change.segmentSealed(slot: $0.slot, byteCount: $0.byteCount)
      }
      if wal.freeCount == 0 {
        // The checkpoint below records the change. The last spare log file stays effectively empty until then.
        catalog.apply(changes, sequence: 0, isChecked: false)
      } else if !changes.isEmpty {
        _ = try commitLock.withLock { held throws(StoreError) in try commits.record(changes, held) }
      }
      let told = catalog.leastReplayedOffsets()
      for segment in segments where segment.state == .sealed && segment.isAttached {
        if segment.tail > catalog.segments.vouchedUpTo(segment.slot) {
          let toldFrom = told[segment.slot] ?? .max
          let leftover = Leftover(slot: segment.slot, id: segment.id, end: segment.tail, toldFrom: toldFrom)
          commitLock.withLock { held in held.state.leftovers.add(leftover) }
          // Writes of the previous process may not be durable, so a flush must sync this segment.
          segment.isDirty = true
          segment.owesSync = true
        }
      }
    }
    try upkeepLock.withLock { upkeep throws(StoreError) in try mendCheckpointFiles(upkeep) }
    if isChanged || loaded.storeFileNeedsHealing {
      try budgets.write(identity)
      let fixed = Adoption.fixedByteCount(folders.root)
      commitLock.withLock { held in held.state.ledger.fixed = max(held.state.ledger.fixed, fixed) }
    }
    if isMarked { try failedSyncRecovery.writeAnewWhatNobodyVouchesFor() }
    if wal.freeCount == 0 || isMarked || isChanged || loaded.kind == .rebuilt || loaded.mayHaveLostRemovals
      || loaded.droppedCount > 0
    {
      // The checkpoint does not vouch for unchecked records.
      try checkpointer.checkpoint()
      loaded.scan.forgetWhatIsNoHeader(store: identity.store)
    }
    commitLock.withLock { held in if held.state.leftovers.unchecked.isEmpty { catalog.forgetReplayed() } }
    // Uses since the last checkpoint happened before now.
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

  /// Recreates a missing checkpoint file with the room of the other one, and enlarges a file with too little room. If a
  /// store was copied without the zeros of its files and the disk is full, a file that is long enough is accepted.
  private func mendCheckpointFiles(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let needed = catalog.checkpointByteCount(moreSegments: 0)
    do throws(SystemError) {
      for index in upkeep.state.checkpoints.slots.indices
      where upkeep.state.checkpoints.slots[index].file == nil || upkeep.state.checkpoints.slots[index].room < needed {
        let file: any File
        if let existing = upkeep.state.checkpoints.slots[index].file {
          file = existing
        } else {
          file = try Creation.fresh(CheckpointHeader.fileName(index), folders.checkpoints)
        }
        let room = max(needed, upkeep.state.checkpoints.slots.map(\.room).max() ?? 0)
        do throws(SystemError) {
          try file.allocate(byteCount: room)
        } catch {
          guard SystemCode.isNoSpace(error.code), try file.status().byteCount >= needed else { throw error }
          let growth = try upkeep.state.checkpoints.slots[index].noteRoom(needed)
          commitLock.withLock { held in held.state.ledger.checkpoints += growth }
          continue
        }
        try file.sync()
        try folders.checkpoints.sync()
        upkeep.state.checkpoints.slots[index].file = file
        let growth = try upkeep.state.checkpoints.slots[index].noteRoom(room)
        commitLock.withLock { held in held.state.ledger.checkpoints += growth }
      }
    } catch {
      throw SystemCode.isNoSpace(error.code) ? .noSpace : .system(error)
    }
    commitLock.withLock { held in held.state.checkpoint.room = upkeep.state.checkpoints.room }
  }
}
