/// Removes entries that are damaged, lost, outdated or expired.
///
/// The bus error guard (``BusErrors``) may put zeros into mapped memory at any time during a read. So bytes that were
/// read count only if they are not among the replaced pages afterwards.
final class EntryRemover: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters
  private let commits: CommitLog
  private let checker: RecordChecker
  private let checkpointer: Checkpointer
  private let readAhead: ReadAhead

  init(
    _ context: StoreContext, gate: WriteGate, meters: Meters, commits: CommitLog, checker: RecordChecker,
    checkpointer: Checkpointer, readAhead: ReadAhead
  ) {
    self.context = context
    self.gate = gate
    self.meters = meters
    self.commits = commits
    self.checker = checker
    self.checkpointer = checkpointer
    self.readAhead = readAhead
  }

  /// Drops an entry that failed its check. Returns false if the entry stays: the store is closing, this process is a
  /// forked child, or the removal cannot be logged. If the store can no longer be written, only the index drops the
  /// entry, and the result is true.
  ///
  /// `segment` is the number of the segment in which the entry was found, if another segment may have its slot by now.
  /// An entry in another segment is left alone.
  @discardableResult
  func drop(_ hash: KeyHash, _ location: Location, in segment: UInt64? = nil) -> Bool {
    let isLost = checker.isFromBefore(location)
    // A closing store still writes its index: no entry leaves that index without its frame. In a forked child, the
    // commit lock may be held forever.
    if gate.isClosing || gate.isForkedChild { return false }
    if gate.isReadOnly || (try? gate.requireWritable()) == nil {
      // The entry may have moved meanwhile: then nothing was lost.
      let wasThere = commitLock.withLock { held in
        guard catalog.keys.find(hash, location), catalog.isStill(segment, location) else { return false }
        held.state.index.dropUnread(hash, location)
        return true
      }
      if wasThere { meters.count(lost: isLost) }
      return true
    }
    do throws(StoreError) {
      if try removeDamaged(hash, location, in: segment) { meters.count(lost: isLost) }
      return true
    } catch {
      return false
    }
  }

  /// Drops and counts an entry whose bytes turned out to be damaged during a borrow, which has ended by now.
  @inline(never)
  func dropDamaged(_ borrow: Borrow) {
    catalog.keys.correctHitToMiss(borrow.hash)
    drop(borrow.hash, borrow.location)
  }

  /// Drops those of the lost entries that are still there.
  func drop(_ entries: [LostEntry], _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    for start in stride(from: 0, to: entries.count, by: 64) {
      let part = entries[start..<min(start + 64, entries.count)]
      var dropped: [LostEntry] = []
      try checkpointer.recordForSure(upkeep, because: .damaged) { held in
        var changes = FrameChanges(capacity: part.count)
        dropped = part.filter { entry in
          catalog.isThere(entry) && changes.remove(entry.hash, entry.location, from: &held.state.index)
        }
        return changes.list
      }
      for entry in dropped { meters.count(lost: checker.isFromBefore(entry.location)) }
    }
  }

  /// Removes, in one frame, those of the named entries whose records are still the same. Returns how many, and the
  /// bytes that died; or nil if the log has no room now. `closing` is true for a removal that is part of closing.
  func tryToRemove(
    _ names: some Collection<RecordName>, because reason: CacheEvent.RemovalReason = .removed, closing: Bool = false
  ) throws(StoreError) -> (count: Int, byteCount: Int)? {
    // Checked before the lock is taken, because in a forked child the lock may never be released.
    try gate.requireWritable(closing: closing)
    let heads = readAhead.readAhead(names.lazy.map { ($0.hash, $0.location) })
    return try commits.locked(with: heads) { held throws(StoreError) in
      try gate.requireWritable(closing: closing)
      var changes = FrameChanges(capacity: names.count)
      for name in names where catalog.keys.find(name.hash, name.location) {
        // The number is compared too, because the location may hold another record of the key by now.
        guard held.state.index.lockedRecord(at: name.location, checks: false)?.header.sequence == name.sequence else {
          continue
        }
        changes.remove(name.hash, name.location, from: &held.state.index)
      }
      if changes.list.isEmpty { return (0, 0) }
      let before = held.state.index.liveByteCount
      return try commits.record(changes.list, because: reason, held)
        ? (changes.list.count, before - held.state.index.liveByteCount) : nil
    }
  }

  /// Removes a damaged entry. Returns false if it was gone already.
  func removeDamaged(
    _ hash: KeyHash, _ location: Location, in segment: UInt64? = nil
  ) throws(StoreError) -> Bool {
    while true {
      let done: Bool? = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable()
        guard catalog.keys.find(hash, location), catalog.isStill(segment, location) else { return false }
        let displaced = held.state.index.displaced(at: location)
        return try commits.record([.remove(hash, displaced)], because: .damaged, held) ? true : nil
      }
      if let done { return done }
      try checkpointer.freeLogFiles()
    }
  }

  /// Removes an entry that has its own source and was requested with another one. If the removal cannot be logged now,
  /// the entry stays.
  func dropOutdated(_ hash: KeyHash, _ location: Location, sequence: UInt64) {
    _ = try? tryToRemove([RecordName(hash: hash, location: location, sequence: sequence)], because: .outdated)
  }
}
