import CacheCtlKit
import Vitrine

/// `stat --json`. The names are part of the interface.
enum StatJSON {
  static func report(_ statistics: StoreStatistics, _ tally: EntryTally, _ contents: [String: SegmentContents]) -> JSON
  {
    .object(
      StatisticsJSON.sizes(statistics) + StatisticsJSON.work(statistics) + StatisticsJSON.budgets(statistics)
        + content(statistics, tally, contents))
  }

  private static func content(
    _ statistics: StoreStatistics, _ tally: EntryTally, _ contents: [String: SegmentContents]
  ) -> [(String, JSON)] {
    let tallies = StreamTally.byName(statistics.segments, contents)
    let queues = Dictionary(grouping: tallies) { StreamTally.queue(of: $0.name, statistics.policy) }
    return [
      ("encodings", sums(tally.encodings)),
      ("styles", sums(tally.styles)),
      ("streams", .object(tallies.map { ($0.name, stream($0.tally)) })),
      (
        "queues",
        .object(queues.sorted { $0.key < $1.key }.map { ($0.key, stream(StreamTally(sumOf: $0.value.map(\.tally)))) })
      ),
      ("recency", .array(tally.recency.classes.map(ageClass) + [unknownAge(tally.recency.unknown)])),
      ("sizes", .array(tally.sizes.classes.map(sizeClass))),
      StatisticsJSON.segments(statistics) { segment in
        let contents = contents[segment.file] ?? SegmentContents()
        return [("records", .int(contents.recordCount)), ("entries", .int(contents.entryCount))]
      },
    ]
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
}
