// The window of mapped segments: of more than a process can map, the others are read through their files, and are mapped
// again once they are read often. No hit pays for it: a hit stores nothing by which the least recently used segment could
// be told, so the next one in turn goes.
//
// A reader finds a location and pins its segment under the lock of one shard, and then reads the segment's address. So
// the address is cleared first, then each shard's lock is passed once, and then the pins are looked at. A reader that
// took its shard's lock before has its pin seen. One that took it after sees no address, and reads through the file.
extension Catalog {
  /// Unmaps segments until no more are mapped than may be. A segment stays that takes records or owes a sync, that a reader
  /// has pinned, or that a Blob holds. The upkeep lock keeps upkeep from reading unpinned. The caller releases the mappings without the commit lock, since that takes time.
  func unmapExcess(
    sparing spared: Int? = nil, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) -> [Mapping] {
    var unmapped: [Mapping] = []
    var looks = segments.segments.count
    while segments.mappedCount > segments.mappedLimit, looks > 0 {
      looks -= 1
      guard let segment = segments.nextInTurn(), segment.slot != spared, let mapping = unmap(segment) else { continue }
      unmapped.append(mapping)
    }
    return unmapped
  }

  private func unmap(_ segment: Segment) -> Mapping? {
    guard segment.isAtRest, let storage = segment.storage, let mapping = storage.mapping else { return nil }
    segments.show(nil, slot: segment.slot)
    keys.passLocks()
    contents.passLocks()
    // In this order: a reader that has made a Blob unpins after that.
    if segments.isPinned(segment.slot) || storage.unmap() == nil {
      segments.show(mapping, slot: segment.slot)
      return nil
    }
    return mapping
  }
}

extension Segment {
  /// It takes no records, and all that it took was synced.
  fileprivate var isAtRest: Bool {
    state == .sealed && pendingCount == 0 && unfilled.isEmpty && !isDirty && !isBeingFlushed
  }
}
