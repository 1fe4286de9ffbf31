extension CatalogWriter {
  /// Removes the segments that the log has retired: their files are orphans by now.
  mutating func dropRetired() {
    for case let segment? in segments.all where segments[segment].state == .retired {
      segments.remove(slot: segment.slot)
      segments.freeSlot(segment.slot)
    }
  }

  /// Segments that compaction may take apart. A segment with one large record is not among them: no part of it is dead.
  var compactable: [SegmentLoad] {
    segments.all.compactMap { segment in
      guard let segment, case let account = segments[segment], account.isSettled, account.live.count > 0,
        account.stream != .single
      else { return nil }
      return SegmentLoad(
        slot: segment.slot, stream: account.stream,
        liveByteCount: (account.live.units + account.live.boundUnits) * Unit.byteCount,
        byteCount: account.fill.tail - SegmentHeader.byteCount)
    }
  }

  /// Takes over the counts of another catalog, whose tables this one has by now.
  mutating func takeCounts(of other: borrowing CatalogWriter) {
    keyCount = other.keyCount
    blobCount = other.blobCount
    logicalByteCount = other.logicalByteCount
    nextSegment = max(nextSegment, other.nextSegment)
  }
}
