/// Removes entries that are damaged, lost, outdated or expired.
///
/// What becomes of reads in whose memory the bus error guard has put zeros (``BusErrors``). Zeros may come at any time, so
/// what was read counts only if, afterwards, it is not among the pages that were replaced.
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

  /// Drops an entry that failed its check. False when it could not be: the store is being closed, or fails. `segment` is the one in
  /// which it was found, where its slot may have been given anew since: nothing of another one is meant.
  @discardableResult
  func drop(_ hash: KeyHash, _ location: Location, in segment: UInt64? = nil) -> Bool {
    let isLost = checker.isFromBefore(location)
    // What is being closed has its index to write yet: nothing goes from that without its frame.
    // In a forked child nobody may ever let the commit lock go.
    if gate.isClosing || gate.isForkedChild { return false }
    if gate.isReadOnly || (try? gate.requireWritable()) == nil {
      // The entry may have moved on meanwhile: then nothing was lost.
      let wasThere = commitLock.withLock { held in
        guard catalog.keys.find(hash, location), catalog.isStill(segment, location) else { return false }
        catalog.dropUnread(hash, location)
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

  /// Drops and counts an entry whose bytes turned out damaged while they were lent. They have been given back.
  @inline(never)
  func dropDamaged(_ borrow: Borrow) {
    catalog.keys.correctHitToMiss(borrow.hash)
    drop(borrow.hash, borrow.location)
  }

  /// Drops entries that were lost, where they are still there.
  func drop(_ entries: [LostEntry], _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    for start in stride(from: 0, to: entries.count, by: 64) {
      let part = entries[start..<min(start + 64, entries.count)]
      var dropped: [LostEntry] = []
      try checkpointer.recordForSure(upkeep) { _ in
        var changes = FrameChanges(capacity: part.count)
        dropped = part.filter { entry in
          catalog.isThere(entry) && changes.remove(entry.hash, entry.location, from: catalog)
        }
        return changes.list
      }
      for entry in dropped { meters.count(lost: checker.isFromBefore(entry.location)) }
    }
  }

  /// Removes those of the entries that are still there as they were named, in one frame; answers how many, and the bytes
  /// that died, or nil when the log has no room for it now. `closing` is for a removal that is part of closing.
  func tryToRemove(
    _ names: some Collection<RecordName>, closing: Bool = false
  ) throws(StoreError) -> (count: Int, byteCount: Int)? {
    let heads = readAhead.readAhead(names.lazy.map { ($0.hash, $0.location) })
    return try commits.locked(with: heads) { held throws(StoreError) in
      try gate.requireWritable(closing: closing)
      var changes = FrameChanges(capacity: names.count)
      for name in names where catalog.keys.find(name.hash, name.location) {
        // By its number too: the place may have been given to another record of the key.
        guard catalog.lockedRecord(at: name.location, checks: false)?.header.sequence == name.sequence else { continue }
        changes.remove(name.hash, name.location, from: catalog)
      }
      if changes.list.isEmpty { return (0, 0) }
      let before = catalog.liveByteCount
      return try commits.record(changes.list, held) ? (changes.list.count, before - catalog.liveByteCount) : nil
    }
  }

  /// Removes a damaged entry. False when it had gone already.
  func removeDamaged(
    _ hash: KeyHash, _ location: Location, in segment: UInt64? = nil
  ) throws(StoreError) -> Bool {
    while true {
      let done: Bool? = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable()
        guard catalog.keys.find(hash, location), catalog.isStill(segment, location) else { return false }
        let displaced = catalog.displaced(at: location)
        return try commits.record([.remove(hash, displaced)], held) ? true : nil
      }
      if let done { return done }
      try checkpointer.makeLogRoom()
    }
  }

  /// An entry that has its own source was asked for by another: it goes. What cannot be written down now stays.
  func dropOutdated(_ hash: KeyHash, _ location: Location, sequence: UInt64) {
    _ = try? tryToRemove([RecordName(hash: hash, location: location, sequence: sequence)])
  }
}
