import Vitrine

/// The page of `/status`: numbers, segments as bars, and a plot of latencies. It has no script, and needs nothing from elsewhere.
struct StatusPage {
  let path: String
  let statistics: StoreStatistics
  let failure: StoreError?
  let requests: [(kind: RequestKind, latencies: LatencyHistogram)]
  let connectionCount: Int
  let connectionLimit: Int
  let uptimeSeconds: Int64
  let hits: UInt64
  let misses: UInt64
  let bytesSent: UInt64
  let bytesReceived: UInt64

  /// More segments are only counted.
  private static let mostSegments = 100

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="10"><title>Vitrine: \(PageText.escaped(path))</title>
    <style>\(PageText.style)</style></head><body>
    <header><h1>Vitrine</h1><p><code>\(PageText.escaped(path))</code></p>
    <p class="state \(failure == nil ? "good" : "bad")">\(PageText.escaped(failure?.description ?? "ok"))</p></header>
    <section class="tiles">\(tiles)</section>
    <section><h2>Requests</h2>\(requestTable)
    <div class="scroll">\(LatencyPlot(requests: requests).svg)</div></section>
    <section><h2>Segments</h2>\(segmentBars)</section>
    <footer>Version \(CacheStore.version), up for \(PageText.duration(uptimeSeconds)).
    Numbers for programs: <a href="/metrics">/metrics</a>.</footer>
    </body></html>

    """
  }

  // MARK: Tiles

  private var tiles: String {
    let used = PageText.part(statistics.bytesOnDisk, of: statistics.byteBudget)
    let recent = statistics.lastMinute.map { minute in
      let hasLookups = minute.hitCount + minute.missCount > 0
      return (hasLookups ? PageText.percent(minute.hitRatio) : "no lookup") + " in the last minute"
    }
    let (hits, misses) = (Double(self.hits), Double(self.misses))
    return [
      tile(
        "Hit ratio", hits + misses == 0 ? "–" : PageText.percent(hits / (hits + misses)),
        recent ?? "since the start", bar: hits + misses == 0 ? nil : hits / (hits + misses)),
      tile(
        "On disk", PageText.bytes(statistics.bytesOnDisk),
        "\(PageText.percent(used)) of \(PageText.bytes(statistics.byteBudget))", bar: used),
      tile(
        "Entries", PageText.count(statistics.entryCount),
        statistics.entryBudget == 0
          ? "\(PageText.count(statistics.blobCount)) blobs" : "of \(PageText.count(statistics.entryBudget))"),
      tile(
        "Live", PageText.bytes(statistics.liveByteCount), "\(PageText.bytes(statistics.deadByteCount)) dead"),
      tile(
        "Evicted", PageText.count(statistics.evictedCount),
        "\(PageText.bytes(statistics.evictedByteCount)), by \(statistics.policy.name)"),
      tile(
        "Compacted", PageText.count(statistics.compaction.segmentsFreed),
        "segments freed, \(PageText.bytes(statistics.compaction.bytesMoved)) moved"),
      tile("Connections", PageText.count(connectionCount), "of \(PageText.count(connectionLimit))"),
      tile(
        "Sent", PageText.bytes(Int(clamping: bytesSent)), "\(PageText.bytes(Int(clamping: bytesReceived))) received"),
    ].joined()
  }

  private func tile(_ title: String, _ value: String, _ note: String, bar: Double? = nil) -> String {
    let meter = bar.map { "<div class=\"meter\"><i style=\"width:\(PageText.percent($0))\"></i></div>" } ?? ""
    return "<div class=\"tile\"><h3>\(title)</h3><b>\(value)</b>\(meter)<p>\(PageText.escaped(note))</p></div>"
  }

  // MARK: Requests

  private var requestTable: String {
    if requests.isEmpty { return "<p>No request yet.</p>" }
    let rows = requests.enumerated().map { index, request in
      let (kind, latencies) = request
      let times = [0.5, 0.99, 0.999].map { part in
        "<td>\(latencies.bound(ofPart: part).map { "≤ " + PageText.time($0) } ?? "&gt; 1 s")</td>"
      }
      return "<tr><td><i class=\"key\" style=\"background:\(LatencyPlot.color(index))\"></i>\(kind.protocolName) "
        + "\(kind.command)</td><td>\(PageText.count(Int(clamping: latencies.count)))</td>\(times.joined())</tr>"
    }
    let titles = ["command", "requests", "median", "99%", "99.9%"].map { "<th>\($0)</th>" }.joined()
    return "<div class=\"scroll\"><table><tr>\(titles)</tr>" + rows.joined() + "</table></div>"
  }

  // MARK: Segments

  private var segmentBars: String {
    let segments = statistics.segments.sorted { $0.byteCount > $1.byteCount }
    guard let largest = segments.first?.byteCount, largest > 0 else { return "<p>No segment yet.</p>" }
    let rows = segments.prefix(StatusPage.mostSegments).map { segment in
      let pieces = [
        ("live", segment.liveByteCount), ("dead", segment.deadByteCount), ("free", segment.freeByteCount),
      ].map { "<i class=\"\($0.0)\" style=\"width:\(PageText.percent(PageText.part($0.1, of: largest)))\"></i>" }
      let suffix = ".segment"
      let name = PageText.escaped(
        segment.file.hasSuffix(suffix) ? String(segment.file.dropLast(suffix.utf8.count)) : segment.file)
      return "<tr><td><code>\(name)</code></td><td>\(PageText.escaped(segment.stream))</td>"
        + "<td>\(PageText.bytes(segment.byteCount))</td><td class=\"bar\"><div>\(pieces.joined())</div></td></tr>"
    }
    let rest = segments.count - rows.count
    let legend = ["live", "dead", "free"].map { "<i class=\"key \($0)\"></i>\($0)" }.joined(separator: " ")
    return "<p class=\"legend\">\(legend)</p><div class=\"scroll\"><table class=\"segments\">" + rows.joined()
      + "</table></div>"
      + (rest > 0 ? "<p>and \(PageText.count(rest)) more</p>" : "")
  }
}
