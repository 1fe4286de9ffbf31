import CacheCtlKit
import Vitrine

/// `stat --json`. The names are part of the interface.
enum StatJSON {
  static func report(_ statistics: StoreStatistics, _ tally: EntryTally) -> JSON {
    .object([
      ("format_version", .int(Int(statistics.formatVersion))),
      ("entries", .int(statistics.entryCount)),
      ("blobs", .int(statistics.blobCount)),
      ("bytes_on_disk", .int(statistics.bytesOnDisk)),
      ("bytes_live", .int(statistics.liveByteCount)),
      ("bytes_dead", .int(statistics.deadByteCount)),
      ("bytes_pinned", .int(statistics.pinnedByteCount)),
      ("bytes_logical", .int(statistics.logicalByteCount)),
      ("budget_bytes", .int(statistics.byteBudget)),
      ("budget_entries", .int(statistics.entryBudget)),
      ("hits", .int(statistics.hitCount)),
      ("misses", .int(statistics.missCount)),
      ("write_amplification", .rounded(statistics.writeAmplification, places: 3)),
      ("damaged", .int(statistics.damagedCount)),
      ("lost", .int(statistics.lostCount)),
      ("last_checkpoint_ms", .optional(statistics.lastCheckpointMilliseconds)),
      ("last_open", lastOpen(statistics.lastOpen)),
      ("encodings", sums(tally.encodings)),
      ("styles", sums(tally.styles)),
      ("sizes", .array(tally.sizes.classes.map(sizeClass))),
      ("segments", .array(statistics.segments.map(segment))),
    ])
  }

  private static func lastOpen(_ open: StoreStatistics.LastOpen) -> JSON {
    .object([
      ("kind", .string(open.kind.rawValue)),
      ("milliseconds", .rounded(open.milliseconds, places: 3)),
      ("entries_replayed", .int(open.replayedCount)),
      ("entries_dropped", .int(open.droppedCount)),
      ("may_have_lost_removals", .bool(open.mayHaveLostRemovals)),
      ("notes", .array(open.notes.map { .string($0) })),
    ])
  }

  private static func sums(_ sums: [String: EntryTally.Sum]) -> JSON {
    .object(
      sums.byName.map { name, sum in
        (name, .object([("entries", .int(sum.entryCount)), ("bytes", .int(sum.byteCount))]))
      })
  }

  private static func sizeClass(_ size: SizeHistogram.Class) -> JSON {
    .object([
      ("below", size.upperBound == .max ? .null : .int(size.upperBound)), ("entries", .int(size.count)),
    ])
  }

  private static func segment(_ segment: StoreStatistics.Segment) -> JSON {
    .object([
      ("file", .string(segment.file)), ("stream", .string(segment.stream)),
      ("bytes", .int(segment.byteCount)),
      ("live", .int(segment.liveByteCount)), ("dead", .int(segment.deadByteCount)),
      ("free", .int(segment.freeByteCount)), ("records", .int(segment.liveRecordCount)),
      ("open", .bool(segment.isOpen)),
    ])
  }
}
