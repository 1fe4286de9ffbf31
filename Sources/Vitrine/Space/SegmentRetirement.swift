/// Trims, retires and unlinks segments.
///
/// A segment is retired in this order (rule 5). All its records are dead. The log is made durable up to the frame that
/// killed the last of them. A frame retires the segment, and its file is unlinked. Once no reader pins it, its slot
/// becomes free, and so does its memory unless Blobs hold it.
final class SegmentRetirement: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checker: RecordChecker
  private let checkpointer: Checkpointer

  init(_ context: StoreContext, gate: WriteGate, checker: RecordChecker, checkpointer: Checkpointer) {
    self.context = context
    self.gate = gate
    self.checker = checker
    self.checkpointer = checkpointer
  }

  /// Retires spares that are larger than an ordinary segment of a full store, and all but `kept` of the others.
  func retireSpares(but kept: Int = .max, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let extra = commitLock.withLock { held in
      let byteCount = held.state.largestSegment
      let spares = held.state.writable.spares
      let large = spares.filter { held.state[$0].byteCount > byteCount }
      return large + spares.filter { held.state[$0].byteCount <= byteCount }.dropFirst(kept)
    }
    if extra.isEmpty { return }
    for spare in extra { try retire(spare, upkeep) }
    try retireDeadSegments(upkeep)
  }

  /// Seals the open segments of the returned streams if a store with the present policy and budget does not use them.
  func sealUnusedStreams(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    if commitLock.withLock({ held in held.state.hasReturnedStreams }) { return }
    try sealOpenSegments(upkeep) { $0.stream.isReturned }
  }

  /// Seals open segments, so that their unused ends can be truncated.
  func sealOpenSegments(
    _ upkeep: borrowing UpkeepLock.Held, where isWanted: (SegmentAccount) -> Bool
  ) throws(StoreError) {
    for stream in WritableSegments.streams {
      try checkpointer.recordForSure(upkeep) { held in
        guard let segment = held.state.writable[stream], isWanted(held.state[segment]) else { return [] }
        return [.segmentSealed(slot: segment.slot, byteCount: held.state[segment].byteCount)]
      } then: { held in
        held.state.closeSegment(of: stream)
      }
    }
  }

  /// Retires and unlinks segments without live records. After a failed sync, this waits for a checkpoint: the frames
  /// that killed the records may only look written, and another sync of them proves nothing. Returns whether there were
  /// dead segments.
  @discardableResult
  func retireDeadSegments(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    guard let wal, !gate.mistrustsEarlierRecords else { return false }
    try gate.requireWritable(closing: true)
    let (dead, newestKill) = commitLock.withLock { held in
      let dead = held.state.index.segments.all.compactMap { $0 }.filter { held.state[$0].isDead }
      return (dead, dead.map { held.state[$0].live.lastKill }.max() ?? 0)
    }
    if !dead.isEmpty {
      do throws(SystemError) {
        if newestKill > 0 { try wal.makeDurable(below: newestKill + 1) }
      } catch {
        throw gate.fail(error)
      }
      for segment in dead { try retire(segment, upkeep) }
    }
    try unlinkRetired(upkeep)
    return !dead.isEmpty
  }

  /// Retires a segment that is dead, or a spare that has not been opened meanwhile.
  func retire(_ segment: Segment, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try checkpointer.recordForSure(upkeep) { held in
      held.state[segment].isDead || held.state.writable.isSpare(segment) ? [.segmentRetired(slot: segment.slot)] : []
    } then: { held in
      held.state.writable.removeSpare(segment)
      held.state.queues.segments.remove(segment.id)
      upkeep.state.retiring.add(segment)
    }
  }

  private func unlinkRetired(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let allocations = commitLock.withLock { held in
      upkeep.state.retiring.segments.map { ($0, byteCount: held.state[$0].allocatedByteCount) }
    }
    for (segment, allocated) in allocations where allocated > 0 {
      do throws(SystemError) {
        try folders.segments.remove(segment.fileName)
      } catch {
        guard error.code == SystemError.missing else { throw .system(error) }
      }
      commitLock.withLock { held in
        held.state.ledger.add(-allocated, to: .segments)
        segment.storage?.noteUnlinked(allocated)
        held.state[segment].set(allocatedByteCount: 0)
      }
    }
    upkeep.state.retiring.forget { segment in
      commitLock.withLock { held in
        // A thread that holds this lock may pin a segment that no entry names, so the check needs the lock.
        guard !catalog.segments.isPinned(segment.slot) else { return false }
        // Records that the log carried for this slot must never be written into the slot's next segment.
        checker.forgetCarriedRecords(slot: segment.slot)
        // A leftover that stayed would never be checked, and would keep the mark of the slot's next segment low.
        held.state.leftovers.remove(slot: segment.slot)
        held.state.index.segments.remove(slot: segment.slot)
        held.state.index.segments.freeSlot(segment.slot)
        held.state.admissions.wakeRetries()
        return true
      }
    }
  }

  /// Whether some unlinked bytes are held only by syncs and other short operations.
  func leavesSoon(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.retiring.leaveSoon
  }

  /// Whether another thread pins some unlinked bytes.
  func isLeaving(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.retiring.areLeaving(catalog.segments)
  }

  /// Truncates sealed segments to the bytes written.
  func trimSealedSegments(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try gate.requireWritable(closing: true)
    commitLock.withLock { held in
      for case let segment? in held.state.index.segments.all
      where held.state[segment].state != .open && held.state[segment].state != .spare {
        if held.state[segment].fill.unfilled.isEmpty { segment.storage?.window?.close() }
      }
    }
    let long = commitLock.withLock { held in
      held.state.index.segments.all.compactMap { segment -> (Segment, byteCount: Int)? in
        guard let segment, case let account = held.state[segment], account.state == .sealed,
          account.fill.unfilled.isEmpty
        else { return nil }
        let filled = roundUp(account.fill.tail, to: 4096)
        return account.byteCount > filled ? (segment, filled) : nil
      }
    }
    for (segment, byteCount) in long {
      guard let file = segment.file else { continue }
      do throws(SystemError) {
        if try file.status().byteCount > byteCount { try file.truncate(to: byteCount) }
        let allocated = try file.status().chargedByteCount(atMost: byteCount)
        commitLock.withLock { held in
          held.state.ledger.add(allocated - held.state[segment].allocatedByteCount, to: .segments)
          held.state[segment].set(allocatedByteCount: allocated, byteCount: byteCount)
          held.state[segment].sync.owe()
          held.state.admissions.noteLength(of: segment, byteCount)
          held.state.admitNext()
        }
      } catch {
        throw gate.writeError(error)
      }
    }
  }

  /// Removes segment files that nothing refers to. First the replayed frames are made durable, because until then an
  /// older state that needs the files could come back. After a failed sync, this waits for a checkpoint.
  func removeOrphans(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard !upkeep.state.orphans.isEmpty, !gate.mistrustsEarlierRecords, !gate.writesNoMore, let wal else { return }
    do throws(SystemError) {
      try wal.makeDurable(below: wal.appendedSequence)
    } catch {
      throw gate.fail(error)
    }
    upkeep.state.orphans.forget { name in
      do throws(SystemError) {
        try folders.segments.remove(name)
        return true
      } catch {
        return error.code == SystemError.missing
      }
    }
    // Until all orphans are removed, the full amount stays in the ledger.
    if upkeep.state.orphans.isEmpty {
      commitLock.withLock { held in held.state.ledger.add(-held.state.ledger[.orphans], to: .orphans) }
    }
  }
}
