import Vitrine

/// The statistics of a store as JSON, without sums that need a walk over the entries. The names are part of the
/// interfaces of the tool and of the C library.
package enum StatisticsJSON {
  package static func report(_ statistics: StoreStatistics) -> JSON {
    .object(sizes(statistics) + work(statistics) + budgets(statistics) + [segments(statistics) { _ in [] }])
  }

  package static func sizes(_ statistics: StoreStatistics) -> [(String, JSON)] {
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

  package static func work(_ statistics: StoreStatistics) -> [(String, JSON)] {
    [
      ("hits", .int(statistics.hitCount)),
      ("misses", .int(statistics.missCount)),
      ("last_minute", statistics.lastMinute.map(recent) ?? .null),
      ("last_hour", statistics.lastHour.map(recent) ?? .null),
      ("miss_curve", statistics.missCurve.map(curve) ?? .null),
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

  package static func budgets(_ statistics: StoreStatistics) -> [(String, JSON)] {
    [
      ("pins", statistics.pins.map(pinUse) ?? .null),
      ("style_budgets", .object(statistics.styles.map { ($0.style.name, styleUse($0)) })),
    ]
  }

  /// The segments, each with the fields that `more` returns for it.
  package static func segments(
    _ statistics: StoreStatistics, with more: (StoreStatistics.Segment) -> [(String, JSON)]
  ) -> (String, JSON) {
    ("segments", .array(statistics.segments.map { segment($0, more($0)) }))
  }

  private static func recent(_ lookups: StoreStatistics.Lookups) -> JSON {
    .object([("hits", .int(lookups.hitCount)), ("misses", .int(lookups.missCount))])
  }

  private static func curve(_ curve: MissCurve) -> JSON {
    .object([
      ("budget_bytes", .int(curve.byteBudget)), ("requests", .int(curve.requestCount)),
      ("miss_ratio", .rounded(curve.missRatio, places: 6)),
      (
        "points",
        .array(
          curve.points.map { point in
            .object([
              ("budget_bytes", .int(point.byteBudget)), ("value_bytes", .int(point.valueByteCount)),
              ("miss_ratio", .rounded(point.missRatio, places: 6)),
            ])
          })
      ),
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

  private static func segment(_ segment: StoreStatistics.Segment, _ more: [(String, JSON)]) -> JSON {
    .object(
      [
        ("file", .string(segment.file)), ("stream", .string(segment.stream)), ("bytes", .int(segment.byteCount)),
        ("live", .int(segment.liveByteCount)), ("dead", .int(segment.deadByteCount)),
        ("free", .int(segment.freeByteCount)), ("open", .bool(segment.isOpen)),
      ] + more)
  }
}
