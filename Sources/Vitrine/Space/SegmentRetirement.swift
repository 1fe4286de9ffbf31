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

  /// Retires spares that are larger than the present segment size, and all but `kept` of the others.
  func giveUpSpares(but kept: Int = .max, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let extra = commitLock.withLock { held in
      let byteCount = held.state.segmentByteCount
      let spares = held.state.writable.spares
      return spares.filter { $0.byteCount > byteCount } + spares.filter { $0.byteCount <= byteCount }.dropFirst(kept)
    }
    if extra.isEmpty { return }
    for spare in extra { try retire(spare, upkeep) }
    try retireDeadSegments(upkeep)
  }

  /// Seals open segments, so that their unused ends can be truncated.
  func sealOpenSegments(
    _ upkeep: borrowing UpkeepLock.Held, where isWanted: (Segment) -> Bool
  ) throws(StoreError) {
    for stream in WritableSegments.streams {
      try checkpointer.recordForSure(upkeep) { held in
        guard let segment = held.state.writable[stream], isWanted(segment) else { return [] }
        return [.segmentSealed(slot: segment.slot, byteCount: segment.byteCount)]
      } then: { held in
        held.state.writable.close(stream)
      }
    }
  }

  /// Retires and unlinks segments without live records. After a failed sync, this waits for a checkpoint: the frames
  /// that killed the records may only look written, and another sync of them proves nothing.
  func retireDeadSegments(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard let wal, !gate.mistrustsEarlierRecords else { return }
    try gate.requireWritable(closing: true)
    let dead = commitLock.withLock { held in catalog.segments.segments.compactMap { $0 }.filter(\.isDead) }
    if !dead.isEmpty {
      let newestKill = dead.map(\.lastKill).max() ?? 0
      do throws(SystemError) {
        if newestKill > 0 { try wal.makeDurable(below: newestKill + 1) }
      } catch {
        throw gate.fail(error)
      }
      for segment in dead { try retire(segment, upkeep) }
    }
    try unlinkRetired(upkeep)
  }

  /// Retires a segment that is dead, or a spare that has not been opened meanwhile.
  func retire(_ segment: Segment, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try checkpointer.recordForSure(upkeep) { held in
      segment.isDead || held.state.writable.isSpare(segment) ? [.segmentRetired(slot: segment.slot)] : []
    } then: { held in
      held.state.writable.removeSpare(segment)
      upkeep.state.retiring.append(segment)
    }
  }

  private func unlinkRetired(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    for segment in upkeep.state.retiring where segment.allocatedByteCount > 0 {
      let allocated = segment.allocatedByteCount
      do throws(SystemError) {
        try folders.segments.remove(segment.fileName)
      } catch {
        guard error.code == SystemError.missing else { throw .system(error) }
      }
      commitLock.withLock { held in
        held.state.ledger.segments -= allocated
        segment.storage?.noteUnlinked(allocated)
        segment.allocatedByteCount = 0
      }
    }
    upkeep.state.retiring.removeAll { segment in
      commitLock.withLock { held in
        // A thread that holds this lock may pin a segment that no entry names, so the check needs the lock.
        guard !catalog.segments.isPinned(segment.slot) else { return false }
        // Records that the log carried for this slot must never be written into the slot's next segment.
        checker.carriedRecords.withLock { $0 = $0.filter { $0.key.slot != segment.slot } }
        // Nor may leftovers of this segment vouch for the slot's next segment.
        held.state.leftovers.remove(slot: segment.slot)
        upkeep.state.leaving.append(Leaving(storage: segment.storage))
        catalog.segments.remove(slot: segment.slot)
        catalog.segments.giveBack(slot: segment.slot)
        held.state.admissions.wakeRetries()
        return true
      }
    }
    upkeep.state.leaving.removeAll { $0.storage == nil }
  }

  /// Whether some unlinked bytes are held only by syncs and other short operations.
  func leavesSoon(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.leaving.contains { ($0.storage?.leavingByteCount ?? 0) > 0 }
  }

  /// Whether another thread pins some unlinked bytes.
  func isLeaving(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.retiring.contains {
      catalog.segments.isPinnedByOthers($0.slot) && ($0.storage?.leavingByteCount ?? 0) > 0
    }
  }

  /// Truncates sealed segments to the bytes written.
  func trimSealedSegments(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try gate.requireWritable(closing: true)
    commitLock.withLock { held in
      for case let segment? in catalog.segments.segments where segment.state != .open && segment.state != .spare {
        if segment.unfilled.isEmpty { segment.window?.close() }
      }
    }
    let long = commitLock.withLock { held in
      catalog.segments.segments.compactMap { $0 }.filter {
        $0.state == .sealed && $0.unfilled.isEmpty && $0.byteCount > roundUp($0.tail, to: 4096)
      }.map { ($0, byteCount: roundUp($0.tail, to: 4096)) }
    }
    for (segment, byteCount) in long {
      guard let file = segment.file else { continue }
      do throws(SystemError) {
        if try file.status().byteCount > byteCount { try file.truncate(to: byteCount) }
        let allocated = try file.status().chargedByteCount(atMost: byteCount)
        commitLock.withLock { held in
          held.state.ledger.segments += allocated - segment.allocatedByteCount
          segment.byteCount = byteCount
          segment.isDirty = true
          segment.owesSync = true
          segment.allocatedByteCount = allocated
          held.state.admissions.noteLength(of: segment)
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
    guard !upkeep.state.orphans.isEmpty, !gate.mistrustsEarlierRecords, let wal else { return }
    do throws(SystemError) {
      try wal.makeDurable(below: wal.appendedSequence)
    } catch {
      throw gate.fail(error)
    }
    upkeep.state.orphans = upkeep.state.orphans.filter { name in
      do throws(SystemError) {
        try folders.segments.remove(name)
        return false
      } catch {
        return error.code != SystemError.missing
      }
    }
    // Until all orphans are removed, the full amount stays in the ledger.
    if upkeep.state.orphans.isEmpty { commitLock.withLock { held in held.state.ledger.orphans = 0 } }
  }
}
