// How a segment goes (rule 5): all its records are dead; the log is durable up to the frame that killed the last of
// them; then a frame retires it, its name goes, and, once no reader has it pinned, its slot, and its memory unless Blobs
// hold it.
extension StoreCore {
  /// Gives back the space of segments in which nothing lives. Under the upkeep lock. After a failed sync not before a
  /// checkpoint tells so: the frames that killed them may only look written, and another sync of them says nothing.
  func retireDeadSegments() throws(StoreError) {
    guard let wal, !mistrustsEarlierRecords else { return }
    try requireWritable(closing: true)
    let dead = locked { catalog.segments.segments.compactMap { $0 }.filter(\.isDead) }
    if !dead.isEmpty {
      let newestKill = dead.map(\.lastKill).max() ?? 0
      do throws(SystemError) {
        if newestKill > 0 { try wal.makeDurable(below: newestKill + 1) }
      } catch {
        throw fail(error)
      }
      for segment in dead { try retire(segment) }
    }
    try unlinkRetired()
  }

  /// Names a segment as gone that nobody needs: dead, or a spare that nobody has opened meanwhile. Under the upkeep lock.
  func retire(_ segment: Segment) throws(StoreError) {
    try recordForSure {
      segment.isDead || spares.contains { $0 === segment } ? [.segmentRetired(slot: segment.slot)] : []
    } then: {
      spares.removeAll { $0 === segment }
      retiring.append(segment)
    }
  }

  /// Writes a frame of changes to segments, after a checkpoint where the log has no room, and then does what goes with
  /// it. Nothing when there are no changes. Under the upkeep lock; the closures run under the commit lock.
  func recordForSure(_ changes: () -> [Change], then: () -> Void = {}) throws(StoreError) {
    while true {
      let isDone = try locked { () throws(StoreError) in
        try requireWritable(closing: true)
        let changes = changes()
        if changes.isEmpty { return true }
        guard try record(changes) else { return false }
        then()
        return true
      }
      if isDone { return }
      try writeCheckpoint()
    }
  }

  private func unlinkRetired() throws(StoreError) {
    for segment in retiring where segment.allocatedByteCount > 0 {
      let allocated = segment.allocatedByteCount
      do throws(SystemError) {
        try folders.segments.remove(segment.fileName)
      } catch {
        guard error.code == SystemError.missing else { throw .system(error) }
      }
      locked {
        ledger.segments -= allocated
        segment.storage?.noteUnlinked(allocated)
        segment.allocatedByteCount = 0
      }
    }
    retiring.removeAll { segment in
      locked {
        // Under the lock, since whoever holds it may pin a segment that no entry names.
        guard !catalog.segments.isPinned(segment.slot) else { return false }
        // What the log carried for records of this slot must never be written into the segment that takes it next.
        inline.withLock { $0 = $0.filter { $0.key.slot != segment.slot } }
        // Nor must the one that takes its slot be vouched for in its place.
        unchecked.removeAll { $0.slot == segment.slot }
        leaving.append(Leaving(storage: segment.storage))
        catalog.segments.remove(slot: segment.slot)
        catalog.segments.giveBack(slot: segment.slot)
        return true
      }
    }
    leaving.removeAll { $0.storage == nil }
  }

  /// Whether there are bytes without a name that only syncs and the like still hold. Under the upkeep lock.
  var leavesSoon: Bool { leaving.contains { ($0.storage?.leavingByteCount ?? 0) > 0 } }

  /// Whether there are such bytes that another thread has pinned. Under the upkeep lock.
  var isLeaving: Bool {
    retiring.contains { catalog.segments.isPinnedByOthers($0.slot) && ($0.storage?.leavingByteCount ?? 0) > 0 }
  }

  /// Cuts sealed segments to what was written in them. Under the upkeep lock.
  func trimSealedSegments() throws(StoreError) {
    try requireWritable(closing: true)
    locked {
      for case let segment? in catalog.segments.segments where segment.state != .open && segment.state != .spare {
        if segment.unfilled.isEmpty { segment.window?.close() }
      }
    }
    let long = locked {
      catalog.segments.segments.compactMap { $0 }.filter {
        $0.state == .sealed && $0.unfilled.isEmpty && $0.byteCount > roundUp($0.tail, to: 4096)
      }.map { ($0, byteCount: roundUp($0.tail, to: 4096)) }
    }
    for (segment, byteCount) in long {
      guard let file = segment.file else { continue }
      do throws(SystemError) {
        if try file.status().byteCount > byteCount { try file.truncate(to: byteCount) }
        let allocated = try file.status().chargedByteCount(atMost: byteCount)
        locked {
          ledger.segments += allocated - segment.allocatedByteCount
          segment.byteCount = byteCount
          segment.isDirty = true
          segment.owesSync = true
          segment.allocatedByteCount = allocated
          admissions.noteLength(of: segment)
          admitNext()
        }
      } catch {
        throw writeError(error)
      }
    }
  }

  /// Removes files of segments that nothing refers to. Under the upkeep lock. What recovery replayed is made durable
  /// first: until then an older state, which may need them, could come back. After a failed sync only a checkpoint tells.
  func removeOrphans() throws(StoreError) {
    guard !orphans.isEmpty, !mistrustsEarlierRecords, let wal else { return }
    do throws(SystemError) {
      try wal.makeDurable(below: wal.appendedSequence)
    } catch {
      throw fail(error)
    }
    orphans = orphans.filter { name in
      do throws(SystemError) {
        try folders.segments.remove(name)
        return false
      } catch {
        return error.code != SystemError.missing
      }
    }
    // What stays counts as before, whatever of it has gone.
    if orphans.isEmpty { locked { ledger.orphans = 0 } }
  }
}

/// The memory and the file of a segment that the catalog has forgotten, for as long as somebody is at work on it.
struct Leaving {
  weak var storage: SegmentStorage?
}
