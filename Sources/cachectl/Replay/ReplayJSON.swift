import CacheCtlKit

/// `replay --json`. The names are part of the interface.
enum ReplayJSON {
  /// One object for a single replay; for several, their list and the list of simulations.
  static func document(_ results: ReplayResults) -> JSON {
    let curves = results.curves.map { [("curves", JSON.array($0.map(\.json)))] } ?? []
    let head = head(results) + curves
    if !results.isComparison, let only = results.replays.first, results.replays.count == 1 {
      return .object(head + members(only))
    }
    return .object(
      head + [
        ("runs", .array(results.replays.map { .object(members($0)) })),
        ("simulations", .array(results.simulations.map(simulation))),
      ])
  }

  private static func head(_ results: ReplayResults) -> [(String, JSON)] {
    [
      ("trace", .string(results.traceName)), ("seed", .int(Int(clamping: results.seed))),
      ("distinct_objects", results.totals.map { .int($0.objectCount) } ?? .null),
      ("distinct_bytes", results.totals.map { .int($0.distinctByteCount) } ?? .null),
    ]
  }

  private static func members(_ report: ReplayReport) -> [(String, JSON)] {
    [
      ("policy", .string(report.policy.name)), ("budget_bytes", .int(report.budget.byteCount)),
      ("budget_share", report.budget.share.map { .double($0) } ?? .null),
      ("rate", report.byteRate.map { .int($0) } ?? .null),
    ] + misses(report.counts) + [
      ("write_amplification", .rounded(report.writeAmplification, places: 4)),
      ("write_amplification_engine", .rounded(report.engineAmplification, places: 4)),
      ("write_amplification_source", .string(report.written == nil ? "engine" : "system")),
      ("bytes_written", report.written.map { .int($0.written) } ?? .null),
      ("bytes_cancelled", report.written.map { .int($0.cancelled) } ?? .null),
      ("puts", .int(report.putCount)), ("bytes_put", .int(report.putByteCount)),
      ("too_large", .int(report.refusedCount)),
      ("bytes_on_disk_max", .int(report.usage.mostBytesOnDisk)),
      ("bytes_live", .int(report.usage.averageLiveByteCount)),
      ("bytes_live_end", .int(report.usage.liveByteCount)),
      ("was_full", .bool(report.usage.wasFull)),
      ("evictions", .int(report.evictionCount)), ("mismatches", .int(report.mismatchCount)),
      ("damaged", .int(report.damagedCount)), ("seconds", .rounded(report.seconds, places: 3)),
      ("puts_per_second", .rounded(report.putsPerSecond, places: 1)),
    ] + latencies("put", report.puts) + latencies("get", report.gets)
  }

  private static func misses(_ counts: MissCounts) -> [(String, JSON)] {
    [
      ("requests", .int(counts.requestCount)), ("misses", .int(counts.missCount)),
      ("miss_ratio", .rounded(counts.missRatio, places: 6)),
      ("byte_miss_ratio", .rounded(counts.byteMissRatio, places: 6)),
    ]
  }

  /// In nanoseconds.
  private static func latencies(_ name: String, _ histogram: LatencyHistogram) -> [(String, JSON)] {
    [
      ("\(name)_p50", .int(histogram.nanoseconds(0.5))), ("\(name)_p999", .int(histogram.nanoseconds(0.999))),
      ("\(name)_max", .int(Int(histogram.longest))),
    ]
  }

  private static func simulation(_ report: SimulationReport) -> JSON {
    .object(
      [
        ("policy", .string(report.policy)), ("budget_bytes", .int(report.budget.byteCount)),
        ("budget_share", report.budget.share.map { .double($0) } ?? .null),
        ("capacity", .string(report.capacity.rawValue)),
        ("store", report.store.map { .string($0.name) } ?? .null),
        ("capacity_bytes", .int(report.byteCapacity)),
      ] + misses(report.counts))
  }
}

extension LatencyHistogram {
  /// A percentile in whole nanoseconds. The middle of a class may lie above the longest duration, which bounds it.
  func nanoseconds(_ share: Double) -> Int { min(Int(percentile(share)), Int(longest)) }
}
