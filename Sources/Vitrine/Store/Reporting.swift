extension StoreCore {
  /// What the store holds and has done. O(segments).
  func statistics() -> StoreStatistics {
    let lookups = catalog.keys.lookups
    let put = bytesPut.load(ordering: .relaxed)
    let written = bytesWritten.load(ordering: .relaxed) + (wal?.writtenByteCount ?? 0)
    return locked {
      var segments: [StoreStatistics.Segment] = []
      var live = 0
      var dead = 0
      for case let segment? in catalog.segments.segments where segment.state != .retired {
        let liveBytes = segment.liveUnits * Unit.byteCount
        let used = segment.tail - SegmentHeader.byteCount
        live += liveBytes
        dead += max(0, used - liveBytes)
        segments.append(
          .init(
            file: segment.fileName, stream: segment.stream.name, byteCount: segment.allocatedByteCount,
            liveByteCount: liveBytes, deadByteCount: max(0, used - liveBytes),
            freeByteCount: max(0, segment.byteCount - segment.tail), liveRecordCount: segment.liveCount,
            isOpen: segment.state == .open))
      }
      return StoreStatistics(
        formatVersion: identity.version, entryCount: catalog.keyCount, blobCount: catalog.blobCount,
        bytesOnDisk: ledger.total, liveByteCount: live, deadByteCount: dead,
        pinnedByteCount: isReadOnly ? earlierPinned : catalog.segments.account.pinnedByteCount,
        logicalByteCount: catalog.logicalByteCount, byteBudget: current.byteBudget,
        entryBudget: current.entryBudget, hitCount: earlierHits &+ lookups.hits,
        missCount: earlierMisses &+ lookups.misses,
        writeAmplification: put == 0 ? 0 : Double(written) / Double(put),
        damagedCount: damagedCount.load(ordering: .relaxed), lostCount: lostCount.load(ordering: .relaxed),
        evictedCount: evictor.record.entryCount, evictedByteCount: evictor.record.byteCount,
        evictedByAge: evictor.record.ages,
        compaction: .init(
          stepCount: compaction.stepCount, recordsMoved: compaction.recordCount, bytesMoved: compaction.byteCount,
          segmentsFreed: compaction.segmentCount),
        lastCheckpointMilliseconds: lastCheckpointMilliseconds, lastOpen: lastOpen, segments: segments)
    }
  }
}
