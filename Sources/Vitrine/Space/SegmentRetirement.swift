/// Trims, retires and unlinks segments.
///
/// How a segment goes (rule 5): all its records are dead; the log is durable up to the frame that killed the last of
/// them; then a frame retires it, its name goes, and, once no reader has it pinned, its slot, and its memory unless Blobs
/// hold it.
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

  /// Gives up spares that are larger than segments are now, and all others but `kept` of them.
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

  /// Seals open segments, so that their ends can be cut off.
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

  /// Gives back the space of segments in which nothing lives. After a failed sync not before a
  /// checkpoint tells so: the frames that killed them may only look written, and another sync of them says nothing.
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

  /// Names a segment as gone that nobody needs: dead, or a spare that nobody has opened meanwhile.
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
        // Under the lock, since whoever holds it may pin a segment that no entry names.
        guard !catalog.segments.isPinned(segment.slot) else { return false }
        // What the log carried for records of this slot must never be written into the segment that takes it next.
        checker.carriedRecords.withLock { $0 = $0.filter { $0.key.slot != segment.slot } }
        // Nor must the one that takes its slot be vouched for in its place.
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

  /// Whether there are bytes without a name that only syncs and the like still hold.
  func leavesSoon(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.leaving.contains { ($0.storage?.leavingByteCount ?? 0) > 0 }
  }

  /// Whether there are such bytes that another thread has pinned.
  func isLeaving(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    upkeep.state.retiring.contains {
      catalog.segments.isPinnedByOthers($0.slot) && ($0.storage?.leavingByteCount ?? 0) > 0
    }
  }

  /// Cuts sealed segments to what was written in them.
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

  /// Removes files of segments that nothing refers to. What recovery replayed is made durable
  /// first: until then an older state, which may need them, could come back. After a failed sync only a checkpoint tells.
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
    // What stays counts as before, whatever of it has gone.
    if upkeep.state.orphans.isEmpty { commitLock.withLock { held in held.state.ledger.orphans = 0 } }
  }
}
