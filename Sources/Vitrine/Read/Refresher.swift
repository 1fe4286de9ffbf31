/// Moves a read-only store, which is a snapshot, forward.
///
/// Frames that the writer has stored since are applied to the same catalog, in place, so a get costs the same as in a
/// store that is never refreshed. Segments are mapped before an entry names them, and unmapped after no entry names
/// them and no reader has them pinned. Mapped bytes stay the same, also after the file is unlinked: if a place in a
/// segment is written twice, then with the same bytes.
final class Refresher: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let lifetimes: Lifetimes
  private let checker: RecordChecker
  private let mappedSegments: MappedSegments
  private let useHints: UseHints

  init(
    _ context: StoreContext, gate: WriteGate, lifetimes: Lifetimes, checker: RecordChecker,
    mappedSegments: MappedSegments, useHints: UseHints
  ) {
    self.context = context
    self.gate = gate
    self.lifetimes = lifetimes
    self.checker = checker
    self.mappedSegments = mappedSegments
    self.useHints = useHints
  }

  /// Applies the changes that the writer has stored. Returns whether there was anything new.
  func refresh() throws(StoreError) -> Bool {
    if gate.isClosed { throw .closed }
    useHints.leave(isLast: false)
    return try upkeepLock.withLock { upkeep throws(StoreError) in
      if upkeep.state.follower == nil { return false }
      if lastOpen.kind == .created { return try refreshUnfinished() }
      guard folders.areStillNamed else { throw .storeRemoved }
      return try refresh(&upkeep.state.follower!, upkeep)
    }
  }

  private func refresh(
    _ follower: inout Follower, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Bool {
    forgetDeparted(&follower)
    if !follower.mustLoad, let changes = try readLog(&follower, upkeep),
      commitLock.withLock({ held in enter(changes, &follower, held) })
    {
      follower.endEntering()
      forgetDeparted(&follower)
      return !changes.isEmpty
    }
    try load(&follower, upkeep)
    return true
  }

  /// Refreshes a reader of a store whose creation was interrupted. Once the store is created, it is another store.
  private func refreshUnfinished() throws(StoreError) -> Bool {
    if folders.root.isStillNamed(), (try? folders.root.openFile(CacheFormat.storeFile, .readOnly)) == nil {
      return false
    }
    throw .storeRemoved
  }

  var snapshotLoader: Loader {
    Loader(
      folders: folders, isReadOnly: true, mapsSegments: reads == .mapped, account: catalog.segments.account)
  }

  /// Reads the changes stored since the last refresh, with their segments mapped and in this catalog's slots. Returns
  /// nil if the log does not lead on from there. Sets ``Follower/mustLoad`` until the caller has entered the
  /// changes: after an error in between, the next refresh loads a snapshot.
  private func readLog(
    _ follower: inout Follower, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> [Change]? {
    // The checkpoint is read first: every frame before its position is stored, unless a checkpoint has replaced it. A
    // checkpoint that is published later matters only if it has freed frames that are about to be read, and those then
    // fail their checks.
    let newest = try snapshotLoader.newestCheckpoint()
    follower.beginEntering()
    var tail = follower.tail
    defer { follower.advance(to: tail) }
    var changes: [Change] = []
    var missing: Set<Int> = []
    // A segment without a file was retired by a later frame, which must be read too.
    for _ in 0..<10 {
      let isWhole = try tail.follow(scanLog) { frame throws(StoreError) in
        for change in frame {
          guard let change = try relocate(change, &follower, &missing, upkeep) else { return false }
          changes.append(change)
        }
        return true
      }
      guard isWhole else { return nil }
      if missing.isEmpty { break }
    }
    if let newest, newest.position.sequence > tail.end.sequence || newest.identity.store != identity.store {
      return nil
    }
    return changes
  }

  private func scanLog() throws(StoreError) -> WALScan {
    try system { () throws(SystemError) in
      try WALScan.open(folders.wal, store: identity.store, access: .readOnly)
    }
  }

  /// Returns the change in this catalog's slots; nil if it cannot be applied in place.
  private func relocate(
    _ change: Change, _ follower: inout Follower, _ missing: inout Set<Int>, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Change? {
    switch change {
    case .put, .remove, .moved:
      return change.relocated(follower.ownLocation)
    case .removeAll:
      // A new snapshot is loaded instead.
      return nil
    case .segmentMade(let slot, let id, let byteCount):
      guard follower[slot] == nil, byteCount >= SegmentHeader.byteCount,
        let mapped = try map(id, byteCount, upkeep)
      else { return nil }
      if !mapped.isAttached { missing.insert(mapped.slot) }
      follower[slot] = mapped.slot
      return .segmentMade(slot: mapped.slot, id: id, byteCount: byteCount)
    case .segmentOpened(let slot, let stream, let firstSequence):
      return follower[slot].map { .segmentOpened(slot: $0, stream: stream, firstSequence: firstSequence) }
    case .segmentSealed(let slot, let byteCount):
      return follower[slot].map { .segmentSealed(slot: $0, byteCount: byteCount) }
    case .segmentRetired(let slot):
      guard let own = follower[slot] else { return nil }
      follower[slot] = nil
      missing.remove(own)
      return .segmentRetired(slot: own)
    }
  }

  /// Opens a segment that the writer has made, in a slot that no entry names yet. Returns nil if no slot is left.
  private func map(
    _ id: UInt64, _ byteCount: Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Segment? {
    let mapped = try commitLock.withLock { held throws(StoreError) -> Segment? in
      guard let slot = held.state.index.segments.takeSlot() else { return nil }
      let segment = Segment(
        id: id, slot: slot, byteCount: byteCount, stream: .spare, state: .spare, tail: SegmentHeader.byteCount)
      do throws(SystemError) {
        try folders.open(
          segment, held.state.index.segments, access: .readOnly, maps: reads == .mapped,
          account: catalog.segments.account)
      } catch {
        if error.code != SystemError.missing {
          held.state.index.segments.freeSlot(slot)
          throw .system(error)
        }
      }
      held.state.index.segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
      held.state.index.noteSegment(id)
      held.state.ledger.add(held.state[segment].allocatedByteCount, to: .segments)
      return segment
    }
    mappedSegments.trimMappings(upkeep)
    return mapped
  }

  /// Applies the changes. Returns false if they do not fit the catalog.
  private func enter(
    _ changes: [Change], _ follower: inout Follower, _ held: borrowing CommitLock.Held
  ) -> Bool {
    lifetimes.noteUseTime()
    guard held.state.index.advance(by: changes) else { return false }
    for case .put(let put) in changes where put.expires || lifetimes.limitsAge { expirations.note(put.hash, due: .min) }
    for case .segmentRetired(let slot) in changes { depart(slot, &follower, held) }
    return true
  }

  /// Retires a segment that the writer has retired, and drops the entries that still name it.
  func depart(_ slot: Int, _ follower: inout Follower, _ held: borrowing CommitLock.Held) {
    guard let segment = held.state.index.segment(slot) else { return }
    if held.state[segment].live.count > 0 { held.state.index.dropEntries(slot: slot, from: 0) }
    held.state.index.segments.retire(segment)
    held.state.ledger.add(-held.state[segment].allocatedByteCount, to: .segments)
    // The file of a private mapping may stay, because the segment was opened again.
    if let storage = segment.storage, !storage.isPrivate {
      storage.noteUnlinked(held.state[segment].allocatedByteCount)
    }
    follower.depart(slot)
  }

  /// Forgets departed segments that no reader has pinned any more. Each `Blob` keeps its segment mapped.
  func forgetDeparted(_ follower: inout Follower) {
    guard !follower.departing.isEmpty else { return }
    commitLock.withLock { held in
      follower.forgetDeparted { slot in
        guard !catalog.segments.isPinned(slot) else { return false }
        checker.forgetCarriedRecords(slot: slot)
        held.state.index.segments.remove(slot: slot)
        held.state.index.segments.freeSlot(slot)
        return true
      }
    }
  }

  func load(_ follower: inout Follower, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let loader = snapshotLoader
    if let found = try loader.newestCheckpoint(), found.identity.store != identity.store { throw .storeRemoved }
    let loaded = try loader.loadSnapshot(identity: identity, clock: environment.clock)
    // The snapshot shown so far is sound. Damage on the disk, or a store just being emptied, is no reason to show less.
    guard loaded.report.kind != .rebuilt, !loaded.report.mayHaveLostRemovals,
      loaded.log.end.sequence >= follower.tail.end.sequence
    else {
      throw .unreadable(path: folders.root.path, reason: "the files hold an older or damaged snapshot")
    }
    loaded.index.writer.forgetReplayed()
    try commitLock.withLock { held throws(StoreError) in
      try replaceCatalog(loaded, &follower, held)
      held.state.checkpoint.follow(CheckpointAccount(loaded.checkpoint, nil))
    }
    mappedSegments.trimMappings(upkeep)
    upkeep.state.checkpoints = loaded.checkpoint
    forgetDeparted(&follower)
  }

  private func replaceCatalog(
    _ loaded: LoadedStore, _ follower: inout Follower, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    let (slots, gone) = try takeOver(loaded.index.writer.segments, held)
    func ownLocation(of location: Location) -> Location {
      Location(slot: slots[location.slot] ?? 0, offset: location.offset)
    }
    held.state.index.takeEntries(of: loaded.index.writer, at: ownLocation)
    expiry.noteIncomplete()
    checker.replaceCarriedRecords(
      with: Dictionary(uniqueKeysWithValues: loaded.inline.map { (ownLocation(of: $0.key), $0.value) }))
    for slot in gone {
      if let segment = held.state.index.segment(slot) { held.state[segment].live = SegmentLive() }
      depart(slot, &follower, held)
    }
    follower.begin(loaded, slots: slots)
  }

  /// Enters the segments of a catalog just loaded. Known segments keep their slots; new ones get slots that no entry
  /// names. Returns the slot of each loaded segment, and the slots of segments that are gone.
  private func takeOver(
    _ new: borrowing SegmentAccounts, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> (slots: [Int?], gone: [Int]) {
    var known: [UInt64: Segment] = [:]
    for case let segment? in held.state.index.segments.all where held.state[segment].state != .retired {
      known[segment.id] = segment
    }
    var slots = [Int?](repeating: nil, count: new.all.count)
    for case let segment? in new.all {
      let account = new[segment]
      if account.state == .retired { continue }
      let (vouched, first) = (new.table.vouchedUpTo(segment.slot), new.table.firstSequence(segment.slot))
      // A private mapping does not show the bytes that the writer has put there since, so it is not kept.
      if let old = known[segment.id],
        segment.readableByteCount == 0 || (old.readableByteCount > 0 && old.storage?.isPrivate == false)
      {
        known[segment.id] = nil
        slots[segment.slot] = old.slot
        held.state.ledger.add(account.allocatedByteCount - held.state[old].allocatedByteCount, to: .segments)
        held.state[old].take(account)
        held.state.index.segments.setFirstSequence(first, slot: old.slot)
        catalog.segments.raiseMark(of: old, to: vouched)
      } else {
        guard let slot = held.state.index.segments.takeSlot() else {
          throw .system(SystemError(code: SystemError.noMemory, operation: "enter", path: segment.fileName))
        }
        slots[segment.slot] = slot
        let own = held.state.index.segments.segment(segment, account, slot: slot)
        held.state.index.segments.insert(own, vouchedUpTo: vouched, firstSequence: first)
        held.state.ledger.add(account.allocatedByteCount, to: .segments)
      }
    }
    return (slots, known.values.map(\.slot))
  }
}
