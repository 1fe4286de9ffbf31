import CacheCtlKit
import Vitrine

/// `stat --json`. The names are part of the interface.
enum StatJSON {
  static func report(_ statistics: StoreStatistics, _ tally: EntryTally, _ contents: [String: SegmentContents]) -> JSON
  {
    .object(sizes(statistics) + work(statistics) + content(statistics, tally, contents))
  }

  private static func sizes(_ statistics: StoreStatistics) -> [(String, JSON)] {
    [
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
      ("minimum_free_bytes", .int(statistics.minimumFreeBytes)),
      ("disk_free_bytes", statistics.availableBytes.map { .int($0) } ?? .null),
      ("policy", .string(statistics.policy.name)),
    ]
  }

  private static func work(_ statistics: StoreStatistics) -> [(String, JSON)] {
    [
      ("hits", .int(statistics.hitCount)),
      ("misses", .int(statistics.missCount)),
      ("last_minute", statistics.lastMinute.map(recent) ?? .null),
      ("last_hour", statistics.lastHour.map(recent) ?? .null),
      ("write_amplification", .rounded(statistics.writeAmplification, places: 3)),
      ("damaged", .int(statistics.damagedCount)),
      ("lost", .int(statistics.lostCount)),
      ("last_checkpoint_ms", .optional(statistics.lastCheckpointMilliseconds)),
      ("last_open", lastOpen(statistics.lastOpen)),
      ("last_open_for_writing", statistics.lastOpenForWriting.map(lastOpen) ?? .null),
      ("evicted", evicted(statistics)),
      ("compaction", compaction(statistics.compaction)),
    ]
  }

  private static func content(
    _ statistics: StoreStatistics, _ tally: EntryTally, _ contents: [String: SegmentContents]
  ) -> [(String, JSON)] {
    let tallies = StreamTally.byName(statistics.segments, contents)
    let queues = Dictionary(grouping: tallies) { StreamTally.queue(of: $0.name, statistics.policy) }
    return [
      ("encodings", sums(tally.encodings)),
      ("styles", sums(tally.styles)),
      ("pins", statistics.pins.map(pinUse) ?? .null),
      ("style_budgets", .object(statistics.styles.map { ($0.style.name, styleUse($0)) })),
      ("streams", .object(tallies.map { ($0.name, stream($0.tally)) })),
      (
        "queues",
        .object(queues.sorted { $0.key < $1.key }.map { ($0.key, stream(StreamTally(sumOf: $0.value.map(\.tally)))) })
      ),
      ("recency", .array(tally.recency.classes.map(ageClass) + [unknownAge(tally.recency.unknown)])),
      ("sizes", .array(tally.sizes.classes.map(sizeClass))),
      ("segments", .array(statistics.segments.map { segment($0, contents[$0.file] ?? SegmentContents()) })),
    ]
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

  private static func recent(_ lookups: StoreStatistics.Lookups) -> JSON {
    .object([("hits", .int(lookups.hitCount)), ("misses", .int(lookups.missCount))])
  }

  private static func pinUse(_ pins: PinUse) -> JSON {
    .object([
      ("entries", .int(pins.entryCount)), ("most_entries", pins.mostEntries.map { .int($0) } ?? .null),
      ("bytes", .int(pins.byteCount)), ("most_bytes", .int(pins.mostBytes)),
    ])
  }

  private static func styleUse(_ use: StyleUse) -> JSON {
    .object([
      ("entries", .int(use.entryCount)), ("budget_entries", use.budget.count.map { .int($0) } ?? .null),
      ("bytes", .int(use.byteCount)), ("budget_bytes", use.budget.byteCount.map { .int($0) } ?? .null),
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

  private static func evicted(_ statistics: StoreStatistics) -> JSON {
    .object([
      ("entries", .int(statistics.evictedCount)), ("bytes", .int(statistics.evictedByteCount)),
      (
        "ages",
        .array(
          EvictionAges.classes(statistics).map { bound, count in
            .object([("below_seconds", bound.map { .int($0) } ?? .null), ("entries", .int(count))])
          })
      ),
    ])
  }

  private static func compaction(_ compaction: StoreStatistics.Compaction) -> JSON {
    .object([
      ("steps", .int(compaction.stepCount)), ("records_moved", .int(compaction.recordsMoved)),
      ("bytes_moved", .int(compaction.bytesMoved)), ("segments_freed", .int(compaction.segmentsFreed)),
    ])
  }

  private static func stream(_ tally: StreamTally) -> JSON {
    .object([
      ("segments", .int(tally.segmentCount)), ("entries", .int(tally.entryCount)),
      ("records", .int(tally.recordCount)), ("bytes", .int(tally.byteCount)), ("live", .int(tally.liveByteCount)),
      ("dead", .int(tally.deadByteCount)),
    ])
  }

  private static func ageClass(_ age: AgeHistogram.Class) -> JSON {
    .object([
      ("below_seconds", age.upperBound.map { .int($0) } ?? .null), ("entries", .int(age.entryCount)),
      ("bytes", .int(age.byteCount)),
    ])
  }

  private static func unknownAge(_ age: AgeHistogram.Class) -> JSON {
    .object([("unknown", .bool(true)), ("entries", .int(age.entryCount)), ("bytes", .int(age.byteCount))])
  }

  private static func segment(_ segment: StoreStatistics.Segment, _ contents: SegmentContents) -> JSON {
    .object([
      ("file", .string(segment.file)), ("stream", .string(segment.stream)),
      ("bytes", .int(segment.byteCount)),
      ("live", .int(segment.liveByteCount)), ("dead", .int(segment.deadByteCount)),
      ("free", .int(segment.freeByteCount)), ("records", .int(contents.recordCount)),
      ("entries", .int(contents.entryCount)),
      ("open", .bool(segment.isOpen)),
    ])
  }
}
