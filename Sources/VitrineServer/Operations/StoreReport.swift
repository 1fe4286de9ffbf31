import Vitrine

/// A page about the state of a store at one moment: its budget, hits, styles, evictions, miss-ratio curve and
/// segments. It has no script, and needs nothing from elsewhere.
package struct StoreReport {
  /// The entries of one style.
  package struct StyleSum {
    let name: String
    let entryCount: Int
    let byteCount: Int

    package init(name: String, entryCount: Int, byteCount: Int) {
      self.name = name
      self.entryCount = entryCount
      self.byteCount = byteCount
    }
  }

  private let path: String
  private let statistics: StoreStatistics
  private let styles: [StyleSum]
  private let evictionAges: [(bound: Int?, count: Int)]

  /// `styles` are shown in their order. `evictionAges` counts evicted entries by the time since their last use. `bound`
  /// is the lowest number of seconds above a class; nil for the oldest class.
  package init(
    path: String, _ statistics: StoreStatistics, styles: [StyleSum], evictionAges: [(bound: Int?, count: Int)]
  ) {
    self.path = path
    self.statistics = statistics
    self.styles = styles
    self.evictionAges = evictionAges
  }

  /// The whole page.
  package var html: String {
    PageFrame(
      path: path, problem: problem,
      sections: """
        <section class="tiles">\(tiles)</section>\(notes)
        <section><h2>Styles</h2>\(styleTable)</section>
        <section><h2>Misses by budget</h2>\(missCurve)</section>
        <section><h2>Time from last use to eviction</h2>\(ageTable)</section>
        <section><h2>Segments</h2>\(SegmentBars(segments: statistics.segments).html)</section>
        """,
      footer: """
        Version \(CacheStore.version). The store at \(Time.webText(Time.milliseconds())),
        with the last checkpoint at \(statistics.lastCheckpointMilliseconds.map(Time.webText) ?? "no time").
        """
    ).html
  }

  private var openings: [StoreStatistics.LastOpen] {
    [statistics.lastOpen] + (statistics.lastOpenForWriting.map { [$0] } ?? [])
  }

  private var problem: String? {
    if openings.contains(where: \.mayHaveLostRemovals) { return "removed keys may have come back" }
    let count = statistics.damagedCount
    return count > 0 ? "\(PageText.count(count)) damaged entries" : nil
  }

  private var tiles: String {
    let lookups = statistics.hitCount + statistics.missCount
    let tiles = StoreTiles(statistics: statistics)
    let written = statistics.writeAmplification
    return tiles.hitRatio(
      hits: Double(statistics.hitCount), misses: Double(statistics.missCount),
      note: "of \(PageText.count(lookups)) lookups")
      + tiles.store
      + StoreTiles.tile("Written", written == 0 ? "–" : PageText.fixed(written), "bytes for each byte put")
  }

  private var notes: String {
    let notes = statistics.lastOpen.notes.map { "<p>\(PageText.escaped($0))</p>" }
    return notes.isEmpty ? "" : "\n<section><h2>Notes of the opening</h2>\(notes.joined())</section>"
  }

  private var styleTable: String {
    if styles.isEmpty { return "<p>No entry yet.</p>" }
    let budgets = Dictionary(statistics.styles.map { ($0.style.name, $0.budget) }) { first, _ in first }
    return BarTable(
      titles: ["style", "entries", "bytes", "budget"],
      rows: styles.map { sum in
        let budget = budgets[sum.name]
        let limits = [budget?.count.map { PageText.count($0) }, budget?.byteCount.map { PageText.bytes($0) }]
        return BarTable.Row(
          cells: [
            sum.name, PageText.count(sum.entryCount), PageText.bytes(sum.byteCount),
            limits.compactMap { $0 }.joined(separator: ", "),
          ],
          size: sum.byteCount)
      }
    ).html
  }

  private var missCurve: String {
    statistics.missCurve.map { MissCurveChart(curve: $0, policy: statistics.policy).html }
      ?? "<p>Not known: an opening has a curve after \(PageText.count(MissCurve.leastRequestCount)) requests.</p>"
  }

  private var ageTable: String {
    if evictionAges.isEmpty { return "<p>No entry was evicted.</p>" }
    return BarTable(
      titles: ["less than", "entries"],
      rows: evictionAges.map { bound, count in
        BarTable.Row(
          cells: [bound.map { PageText.duration(Int64($0)) } ?? "longer", PageText.count(count)], size: count)
      }
    ).html
  }
}
