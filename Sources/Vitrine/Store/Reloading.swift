// A reader that fell behind, because the writer has begun the log anew meanwhile, reads checkpoint and log as an
// opening does, and then changes its tables for the new ones, shard by shard, under its gets.
extension StoreCore {
  /// Under the upkeep lock.
  func load(_ follower: Follower) throws(StoreError) {
    let loader = snapshotLoader
    if let found = try loader.newestCheckpoint(), found.identity.store != identity.store { throw .storeRemoved }
    let loaded = try loader.loadSnapshot(identity: identity, clock: environment.clock)
    // What is shown is sound: damage on the disk, or a store just being emptied, is no reason to show less.
    guard loaded.kind != .rebuilt, !loaded.mayHaveLostRemovals,
      loaded.end.sequence >= follower.tail.end.sequence
    else {
      throw .unreadable(path: folders.root.path, reason: "what there is now is older or damaged")
    }
    loaded.catalog.forgetReplayed()
    try locked { () throws(StoreError) in
      try replaceCatalog(loaded, follower)
      lastCheckpointMilliseconds = loaded.checkpoint.current.flatMap { loaded.checkpoint.slots[$0].header?.made }
    }
    trimMappings()
    checkpoints = loaded.checkpoint
    forgetDeparted(follower)
  }

  private func replaceCatalog(_ loaded: LoadedStore, _ follower: Follower) throws(StoreError) {
    let new = loaded.catalog
    let (slots, gone) = try takeOver(new.segments)
    func place(_ location: Location) -> Location { Location(slot: slots[location.slot] ?? 0, offset: location.offset) }
    new.contents.relocate(place)
    new.keys.relocate { slot, hash in
      let location = place(slot.location)
      // An entry that is still the same was checked if it was checked.
      return (location, catalog.keys.withEntry(hash, location) { $0.flags.union(slot.flags) } ?? slot.flags)
    }
    // Payloads first: a key that is found new finds its payload. One that is found old may not, and is then looked up
    // again, once the commit lock is free (`drop`).
    catalog.contents.exchange(with: new.contents)
    catalog.keys.exchange(with: new.keys)
    catalog.useTimes.replace(with: new.useTimes)
    catalog.takeCounts(of: new)
    expiry.noteIncomplete()
    inline.withLock { inline in
      inline = Dictionary(uniqueKeysWithValues: loaded.inline.map { (place($0.key), $0.value) })
    }
    for slot in gone {
      catalog.segments.segment(slot)?.liveCount = 0
      catalog.segments.segment(slot)?.liveUnits = 0
      depart(slot, follower)
    }
    follower.begin(loaded, slots: slots)
  }

  /// Enters the segments of a catalog just loaded: known ones stay where they are, new ones get slots that nothing
  /// names. Answers where each slot's segment lies now, and which are gone.
  private func takeOver(_ new: SegmentTable) throws(StoreError) -> (slots: [Int?], gone: [Int]) {
    let live = catalog.segments
    var known: [UInt64: Segment] = [:]
    for case let segment? in live.segments where segment.state != .retired { known[segment.id] = segment }
    var slots = [Int?](repeating: nil, count: new.segments.count)
    for case let segment? in new.segments where segment.state != .retired {
      let (vouched, first) = (new.vouchedUpTo(segment.slot), new.firstSequence(segment.slot))
      // A private mapping does not show what the writer has brought to its place since: it goes.
      if let old = known[segment.id],
        segment.readableByteCount == 0 || (old.readableByteCount > 0 && old.storage?.isPrivate == false)
      {
        known[segment.id] = nil
        slots[segment.slot] = old.slot
        ledger.segments += segment.allocatedByteCount - old.allocatedByteCount
        old.takeState(of: segment)
        live.setFirstSequence(first, slot: old.slot)
        live.raiseMark(of: old, to: vouched)
      } else {
        guard let slot = live.takeSlot() else {
          throw .system(SystemError(code: 12, operation: "enter", path: segment.fileName))
        }
        slots[segment.slot] = slot
        live.insert(Segment(segment, slot: slot), vouchedUpTo: vouched, firstSequence: first)
        ledger.segments += segment.allocatedByteCount
      }
    }
    return (slots, known.values.map(\.slot))
  }
}

extension Catalog {
  fileprivate func takeCounts(of other: Catalog) {
    keyCount = other.keyCount
    blobCount = other.blobCount
    logicalByteCount = other.logicalByteCount
    nextSegment = max(nextSegment, other.nextSegment)
  }
}
