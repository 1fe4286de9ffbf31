// The window of mapped segments. If there are more segments than a process can map, the others are read through their
// files, and are mapped again when they are read often. A hit pays nothing for this: it stores nothing that would
// identify the least recently used segment, so the next segment in turn is unmapped.
//
// A reader finds a location and pins its segment under the lock of one shard, and then reads the segment's address. So
// unmapping first clears the address, then passes each shard's lock once, and then looks at the pins. If a reader took
// its shard's lock before, its pin is seen. If it took the lock after, it sees no address, and reads through the file.
extension CatalogWriter {
  /// Unmaps segments until no more are mapped than the limit allows. A segment stays mapped if it takes records or owes
  /// a sync, if a reader has it pinned, or if a `Blob` holds it. The upkeep lock is needed because upkeep reads
  /// segments without a pin. The caller releases the mappings without the commit lock, because that takes time.
  mutating func unmapExcess(
    sparing spared: Int? = nil, _ upkeep: borrowing UpkeepLock.Held
  ) -> [Mapping] {
    var unmapped: [Mapping] = []
    var looks = segments.all.count
    while segments.mappedCount > segments.mappedLimit, looks > 0 {
      looks -= 1
      guard let segment = segments.nextInTurn(), segment.slot != spared, let mapping = unmap(segment) else { continue }
      unmapped.append(mapping)
    }
    return unmapped
  }

  private mutating func unmap(_ segment: Segment) -> Mapping? {
    guard segments[segment].isAtRest, let storage = segment.storage, let mapping = storage.mapping else { return nil }
    segments.show(nil, slot: segment.slot)
    keys.passLocks()
    contents.passLocks()
    // In this order, because a reader that has made a `Blob` releases its pin after that.
    if catalog.segments.isPinned(segment.slot) || storage.unmap() == nil {
      segments.show(mapping, slot: segment.slot)
      return nil
    }
    return mapping
  }
}
