import CacheCtlKit
import Vitrine

/// `stat` for people: one screen; the rest is in `--json`.
struct StatReport {
  private let statistics: StoreStatistics
  private let tally: EntryTally
  private let contents: [String: SegmentContents]
  private let symbols: Bar.Symbols

  private static let mostSegments = 40
  private static let mostStyles = 10

  init(
    _ statistics: StoreStatistics, _ tally: EntryTally, _ contents: [String: SegmentContents], symbols: Bar.Symbols
  ) {
    self.statistics = statistics
    self.tally = tally
    self.contents = contents
    self.symbols = symbols
  }

  func text(path: String) -> String {
    ([printable(Array(path.utf8)) + "\n", overview, opening]
      + [encodings, styles, styleBudgets, streams, recency, sizes, evictionAges, missCurve, segments].filter {
        !$0.isEmpty
      })
      .joined(separator: "\n")
  }

  private var overview: String {
    let statistics = statistics
    let bar = Bar(symbols: symbols, width: 20)
    var table = Table([.left, .right, .left])
    table.add([
      "on disk", Quantity.bytes(statistics.bytesOnDisk),
      "of \(Quantity.bytes(statistics.byteBudget))  \(bar.text(statistics.bytesOnDisk, of: statistics.byteBudget))  "
        + Quantity.percent(statistics.bytesOnDisk, of: statistics.byteBudget),
    ])
    let limit = statistics.entryBudget == 0 ? "" : "of \(Quantity.count(statistics.entryBudget))"
    if statistics.minimumFreeBytes > 0 {
      table.add([
        "disk", statistics.availableBytes.map { Quantity.bytes($0) } ?? "-",
        "free; the store leaves \(Quantity.bytes(statistics.minimumFreeBytes))",
      ])
    }
    table.add(["entries", Quantity.count(statistics.entryCount), limit])
    if let pins = statistics.pins, pins.entryCount > 0 {
      table.add([
        "pinned", Quantity.count(pins.entryCount),
        "\(pins.entryCount == 1 ? "entry" : "entries"), \(Quantity.bytes(pins.byteCount)) of at most "
          + Quantity.bytes(pins.mostBytes),
      ])
    }
    table.add(["blobs", Quantity.count(statistics.blobCount)])
    table.add(["live", Quantity.bytes(statistics.liveByteCount), "that entries need"])
    table.add(["dead", Quantity.bytes(statistics.deadByteCount), "that no entry needs any more"])
    if statistics.pinnedByteCount > 0 {
      table.add(["held", Quantity.bytes(statistics.pinnedByteCount), "of segments that the writer's blobs hold"])
    }
    table.add(["logical", Quantity.bytes(statistics.logicalByteCount), "that gets would return"])
    let lookups = statistics.hitCount + statistics.missCount
    table.add([
      "hits", Quantity.percent(statistics.hitCount, of: lookups),
      "of \(Quantity.count(lookups, "lookup", "lookups"))",
    ])
    for (name, recent) in [("last minute", statistics.lastMinute), ("last hour", statistics.lastHour)] {
      guard let recent, recent.hitCount + recent.missCount > 0 else { continue }
      let count = recent.hitCount + recent.missCount
      table.add([
        "", Quantity.percent(recent.hitCount, of: count),
        "of \(Quantity.count(count, "lookup", "lookups")) in the \(name)",
      ])
    }
    let amplification = statistics.writeAmplification
    table.add([
      "written", amplification == 0 ? "-" : Quantity.fixed(amplification, places: 2),
      "bytes for each byte put",
    ])
    table.add([
      "evicted", Quantity.count(statistics.evictedCount),
      "\(statistics.evictedCount == 1 ? "entry" : "entries"), \(Quantity.bytes(statistics.evictedByteCount)), by "
        + statistics.policy.name,
    ])
    let compaction = statistics.compaction
    table.add([
      "compacted", Quantity.count(compaction.segmentsFreed),
      "\(compaction.segmentsFreed == 1 ? "segment" : "segments") freed, "
        + "\(Quantity.count(compaction.recordsMoved, "record", "records")) moved "
        + "(\(Quantity.bytes(compaction.bytesMoved)))",
    ])
    if statistics.damagedCount > 0 {
      table.add(["damaged", Quantity.count(statistics.damagedCount), "entries dropped"])
    }
    if statistics.lostCount > 0 {
      table.add(["lost", Quantity.count(statistics.lostCount), "entries, in a crash"])
    }
    return table.text(indentation: "  ")
  }

  private var opening: String {
    let open = statistics.lastOpen
    var table = Table([.left, .left])
    if let writer = statistics.lastOpenForWriting { table.add(["last writer", words(writer)]) }
    table.add(["this open", words(open)])
    table.add([
      "checkpoint", statistics.lastCheckpointMilliseconds.map { Time.text(milliseconds: $0) } ?? "none yet",
    ])
    table.add(["format", CacheFormat.name(of: statistics.formatVersion)])
    if open.mayHaveLostRemovals || statistics.lastOpenForWriting?.mayHaveLostRemovals ?? false {
      table.add(["damage", "removed keys may have come back"])
    }
    for note in open.notes { table.add(["note", note]) }
    return table.text(indentation: "  ")
  }

  private func words(_ open: StoreStatistics.LastOpen) -> String {
    var words = "\(open.kind.rawValue), in \(Quantity.nanoseconds(open.milliseconds * 1_000_000))"
    if open.replayedCount > 0 {
      words += ", \(Quantity.count(open.replayedCount, "change", "changes")) replayed"
    }
    if open.droppedCount > 0 { words += ", \(Quantity.count(open.droppedCount, "entry", "entries")) dropped" }
    return words
  }

  private var encodings: String { sums("encoding", tally.encodings) }

  private var styles: String { sums("style", tally.styles) }

  private func sums(_ title: String, _ sums: [String: EntryTally.Sum]) -> String {
    let sorted = sums.byByteCount
    guard let largest = sorted.first?.sum.byteCount else { return "" }
    let bar = Bar(symbols: symbols, width: 20)
    var table = Table([.left, .right, .right, .left])
    table.add([title, "entries", "bytes"])
    for (name, sum) in sorted.prefix(StatReport.mostStyles) {
      table.add([
        name.shortened(to: 30), Quantity.count(sum.entryCount), Quantity.bytes(sum.byteCount),
        bar.plain(sum.byteCount, of: largest),
      ])
    }
    return table.text(indentation: "  ") + rest(sorted.count - StatReport.mostStyles)
  }

  private var styleBudgets: String {
    if statistics.styles.isEmpty { return "" }
    var table = Table([.left, .right, .left, .right, .left])
    table.add(["style budget", "entries", "", "bytes", ""])
    for use in statistics.styles {
      table.add([
        use.style.name.shortened(to: 30), Quantity.count(use.entryCount),
        use.budget.count.map { "of \(Quantity.count($0))" } ?? "", Quantity.bytes(use.byteCount),
        use.budget.byteCount.map { "of \(Quantity.bytes($0))" } ?? "",
      ])
    }
    return table.text(indentation: "  ")
  }

  private var streams: String {
    let streams = StreamTally.byName(statistics.segments, contents)
    guard !streams.isEmpty else { return "" }
    var table = Table([.left, .left, .right, .right, .right, .right, .right])
    table.add(["stream", "queue", "segments", "entries", "bytes", "live", "dead"])
    for (name, tally) in streams {
      table.add([
        name, StreamTally.queue(of: name, statistics.policy), Quantity.count(tally.segmentCount),
        Quantity.count(tally.entryCount), Quantity.bytes(tally.byteCount),
        Quantity.bytes(tally.liveByteCount), Quantity.bytes(tally.deadByteCount),
      ])
    }
    return table.text(indentation: "  ")
  }

  private var recency: String {
    let all = tally.recency.classes + [tally.recency.unknown]
    let largest = all.map(\.entryCount).max() ?? 0
    guard largest > 0 else { return "" }
    let bar = Bar(symbols: symbols, width: 20)
    var table = Table([.left, .right, .right, .left])
    table.add(["last used", "entries", "bytes"])
    for age in all where age.entryCount > 0 {
      table.add([
        age.name, Quantity.count(age.entryCount), Quantity.bytes(age.byteCount), bar.plain(age.entryCount, of: largest),
      ])
    }
    return table.text(indentation: "  ")
  }

  private var evictionAges: String {
    let classes = EvictionAges.classes(statistics)
    let largest = classes.map(\.count).max() ?? 0
    let bar = Bar(symbols: symbols, width: 20)
    var table = Table([.left, .right, .left])
    if !classes.isEmpty { table.add(["evicted after", "entries"]) }
    for (bound, count) in classes {
      table.add([
        bound.map { "< " + Quantity.duration(seconds: $0) } ?? "longer", Quantity.count(count),
        bar.plain(count, of: largest),
      ])
    }
    return table.text(indentation: "  ")
  }

  private var missCurve: String {
    statistics.missCurve.map { MissCurvePlot(curve: $0, policy: statistics.policy, symbols: symbols).text } ?? ""
  }

  private var sizes: String {
    let classes = tally.sizes.classes
    let largest = classes.map(\.count).max() ?? 0
    let bar = Bar(symbols: symbols, width: 20)
    var table = Table([.left, .right, .left])
    if !classes.isEmpty { table.add(["size", "entries"]) }
    for size in classes {
      table.add([size.name, Quantity.count(size.count), bar.plain(size.count, of: largest)])
    }
    return table.text(indentation: "  ")
  }

  private var segments: String {
    guard !statistics.segments.isEmpty else { return "" }
    // As wide as 80 columns allow beside names, size and records.
    let nameWidths = statistics.segments.map { min($0.file.count, 20) + $0.stream.count }
    let bar = Bar(symbols: symbols, width: min(24, max(10, 50 - (nameWidths.max() ?? 0))))
    var table = Table([.left, .left, .right, .left, .right])
    table.add([
      "segment", "stream", "size", "\(symbols.live) live \(symbols.dead) dead \(symbols.free) free",
      "records",
    ])
    for segment in statistics.segments.prefix(StatReport.mostSegments) {
      table.add([
        segment.file.shortened(to: 20), segment.stream, Quantity.bytes(segment.byteCount),
        bar.text(live: segment.liveByteCount, dead: segment.deadByteCount, free: segment.freeByteCount),
        Quantity.count(contents[segment.file]?.recordCount ?? 0) + (segment.isOpen ? "+" : " "),
      ])
    }
    let hint = statistics.segments.contains(where: \.isOpen) ? "  + still being written\n" : ""
    return table.text(indentation: "  ") + rest(statistics.segments.count - StatReport.mostSegments) + hint
  }

  private func rest(_ count: Int) -> String {
    count > 0 ? "  and \(Quantity.count(count)) more (--json has them all)\n" : ""
  }
}
