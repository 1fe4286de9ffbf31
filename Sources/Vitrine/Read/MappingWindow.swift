/// The window of mapped segments. If there are more segments than a process can map, the others are read through their
/// files, and are mapped again when they are read often. A hit pays nothing for this: it stores nothing that would
/// identify the least recently used segment, so the next segment in turn is unmapped.
///
/// A reader finds a location and pins its segment under the lock of one shard, and then reads the segment's address. So
/// unmapping first clears the address, then passes each shard's lock once, and then looks at the pins. If a reader took
/// its shard's lock before, its pin is seen. If it took the lock after, it sees no address, and reads through the file.
enum MappingWindow {
  /// Unmaps segments until no more are mapped than the limit allows. A segment stays mapped if it takes records or
  /// needs a sync, if a reader has it pinned, or if a `Blob` holds it. The upkeep lock is needed because upkeep reads
  /// segments without a pin. The caller releases the mappings without the commit lock, because that takes time.
  static func unmapExcess(
    of index: inout CatalogWriter, sparing spared: Int? = nil, _ upkeep: borrowing UpkeepLock.Held
  ) -> [Mapping] {
    var unmapped: [Mapping] = []
    var looks = index.segments.all.count
    while index.segments.mappedCount > index.segments.mappedLimit, looks > 0 {
      looks -= 1
      guard let segment = index.segments.nextInTurn(), segment.slot != spared, let mapping = unmap(segment, in: &index)
      else { continue }
      unmapped.append(mapping)
    }
    return unmapped
  }

  private static func unmap(_ segment: Segment, in index: inout CatalogWriter) -> Mapping? {
    guard index.segments[segment].isAtRest, let storage = segment.storage, let mapping = storage.mapping else {
      return nil
    }
    index.segments.show(nil, slot: segment.slot)
    index.keys.passLocks()
    index.contents.passLocks()
    // The pins are checked before the holds, because a reader that makes a `Blob` takes the hold before it releases its
    // pin.
    if index.catalog.segments.isPinned(segment.slot) || storage.unmap(index.segments) == nil {
      index.segments.show(mapping, slot: segment.slot)
      return nil
    }
    return mapping
  }
}
