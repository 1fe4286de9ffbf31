import Vitrine

/// The page of `/status`: numbers, segments as bars, and a plot of latencies. It has no script, and needs nothing from
/// elsewhere.
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

  var html: String {
    PageFrame(
      path: path, problem: failure?.description, refreshSeconds: 10,
      sections: """
        <section class="tiles">\(tiles)</section>
        <section><h2>Requests</h2>\(requestTable)
        <div class="scroll">\(LatencyPlot(requests: requests).svg)</div></section>
        <section><h2>Segments</h2>\(SegmentBars(segments: statistics.segments).html)</section>
        """,
      footer: """
        Version \(CacheStore.version), up for \(PageText.duration(uptimeSeconds)).
        Numbers for programs: <a href="/metrics">/metrics</a>.
        """
    ).html
  }

  private var tiles: String {
    let recent = statistics.lastMinute.map { minute in
      let hasLookups = minute.hitCount + minute.missCount > 0
      return (hasLookups ? PageText.percent(minute.hitRatio) : "no lookup") + " in the last minute"
    }
    let tiles = StoreTiles(statistics: statistics)
    return tiles.hitRatio(hits: Double(hits), misses: Double(misses), note: recent ?? "since the start") + tiles.store
      + StoreTiles.tile(
        "Connections", PageText.count(connectionCount), "of \(PageText.count(connectionLimit))")
      + StoreTiles.tile(
        "Sent", PageText.bytes(Int(clamping: bytesSent)), "\(PageText.bytes(Int(clamping: bytesReceived))) received")
  }

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
}
