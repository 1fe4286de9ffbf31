// A read-only store is a snapshot; this moves it forward. Frames that the writer has stored since are entered in the
// same catalog, in place, so that a get is the same whether a store is ever refreshed or not. Segments are mapped
// before anything names them, and unmapped after nothing does and nobody has them pinned. Bytes that are mapped stay
// what they are: a segment is never written to twice in one place, whatever becomes of its name.
extension StoreCore {
  /// Answers whether there was anything new.
  func refresh() throws(StoreError) -> Bool {
    if isClosed { throw .closed }
    guard let follower else { return false }
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    if lastOpen.kind == .created { return try refreshUnfinished() }
    guard folders.areStillNamed else { throw .storeRemoved }
    forgetDeparted(follower)
    if !follower.mustLoad, let changes = try readLog(follower) {
      follower.mustLoad = !locked { enter(changes, follower) }
      if !follower.mustLoad {
        forgetDeparted(follower)
        return !changes.isEmpty
      }
    }
    try load(follower)
    return true
  }

  /// A store whose making had been cut short: once it is made, it is another one.
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

  // MARK: The log

  /// The changes stored since the last time, with their segments mapped and in this catalog's slots. Nil when the log
  /// does not lead on from there. Until they are entered, the follower counts as lost.
  private func readLog(_ follower: Follower) throws(StoreError) -> [Change]? {
    // The checkpoint first: every frame before its position is stored, unless a checkpoint has taken its place. One that
    // is published later only matters if it has freed what is about to be read, and then that does not check.
    let newest = try snapshotLoader.newestCheckpoint()
    follower.mustLoad = true
    var changes: [Change] = []
    var missing: Set<Int> = []
    // A segment without a file has been retired by a later frame, which is to be read too.
    for _ in 0..<10 {
      let isWhole = try follower.tail.follow(scanLog) { frame throws(StoreError) in
        for change in frame {
          guard let change = try relocate(change, follower, &missing) else { return false }
          changes.append(change)
        }
        return true
      }
      guard isWhole else { return nil }
      if missing.isEmpty { break }
    }
    if let newest, newest.position.sequence > follower.tail.end.sequence || newest.identity.store != identity.store {
      return nil
    }
    return changes
  }

  private func scanLog() throws(StoreError) -> WALScan {
    try system { () throws(SystemError) in
      try WALScan.open(folders.wal, store: identity.store, access: .readOnly)
    }
  }

  /// The change in this catalog's slots; nil when it cannot be entered in place.
  private func relocate(
    _ change: Change, _ follower: Follower, _ missing: inout Set<Int>
  ) throws(StoreError) -> Change? {
    switch change {
    case .put, .remove, .moved:
      return change.relocated(follower.place)
    case .removeAll:
      // Then the view is loaded anew.
      return nil
    case .segmentMade(let slot, let id, let byteCount):
      guard follower[slot] == nil, byteCount >= SegmentHeader.byteCount,
        let mapped = try map(id, byteCount)
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

  /// A segment that the writer has made, in a slot that nothing names yet. Nil when there is none left.
  private func map(_ id: UInt64, _ byteCount: Int) throws(StoreError) -> Segment? {
    guard let slot = locked({ catalog.segments.takeSlot() }) else { return nil }
    let segment = Segment(
      id: id, slot: slot, byteCount: byteCount, stream: .spare, state: .spare, tail: SegmentHeader.byteCount)
    do throws(SystemError) {
      try segment.open(
        in: folders, access: .readOnly, maps: reads == .mapped, account: catalog.segments.account)
    } catch {
      if error.code != SystemError.missing {
        locked { catalog.segments.giveBack(slot: slot) }
        throw .system(error)
      }
    }
    locked {
      catalog.segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
      catalog.nextSegment = max(catalog.nextSegment, id &+ 1)
      ledger.segments += segment.allocatedByteCount
    }
    trimMappings()
    return segment
  }

  // MARK: Entering

  /// Under the commit lock. False when the changes do not fit.
  private func enter(_ changes: [Change], _ follower: Follower) -> Bool {
    noteUseTime()
    guard catalog.advance(by: changes) else { return false }
    for case .put(let put) in changes where put.expires || limitsAge { expirations.note(put.hash, due: .min) }
    for case .segmentRetired(let slot) in changes { depart(slot, follower) }
    return true
  }

  /// Nothing of a segment is needed by now. Under the commit lock.
  func depart(_ slot: Int, _ follower: Follower) {
    guard let segment = catalog.segments.segment(slot) else { return }
    if segment.liveCount > 0 { _ = catalog.dropEntries(slot: slot, from: 0) }
    segment.state = .retired
    ledger.segments -= segment.allocatedByteCount
    // With a private mapping it may be a file that stays, and was opened anew.
    if let storage = segment.storage, !storage.isPrivate { storage.noteUnlinked(segment.allocatedByteCount) }
    follower.departing.append(slot)
  }

  /// Lets go of segments that are gone and that nobody borrows from any more; Blobs keep what they hold mapped.
  func forgetDeparted(_ follower: Follower) {
    guard !follower.departing.isEmpty else { return }
    locked {
      follower.departing.removeAll { slot in
        guard !catalog.segments.isPinned(slot) else { return false }
        inline.withLock { inline in inline = inline.filter { $0.key.slot != slot } }
        catalog.segments.remove(slot: slot)
        catalog.segments.giveBack(slot: slot)
        return true
      }
    }
  }
}
