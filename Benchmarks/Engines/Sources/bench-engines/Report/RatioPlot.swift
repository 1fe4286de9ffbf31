import CacheCtlKit
import Glibc

/// A plot of one workload: for each metric and engine, the ratio to `raw` as a point, and the spread of the repetitions
/// as a line. The scale is logarithmic.
struct RatioPlot {
  private static let colors: [EngineKind: String] = [
    .raw: "#555555", .rawMapped: "#999999", .vitrine: "#d62728", .files: "#1f77b4", .filesMapped: "#6baed6",
    .sqlite: "#2ca02c", .lmdb: "#9467bd", .leveldb: "#bcbd22", .rocksdb: "#ff7f0e", .rocksdbBlob: "#fdae6b",
  ]
  private static let labels = 250.0
  private static let width = 860.0
  private static let rowHeight = 13.0

  private let rows: [ResultRow]
  private let title: String
  /// Decimal logarithms of the ends of the scale.
  private let low: Double
  private let high: Double

  /// Returns nil if no row has a ratio.
  init?(_ title: String, _ rows: [ResultRow]) {
    self.rows = rows.filter { $0.ratioToRaw ?? 0 > 0 && $0.spread.low > 0 }
    guard !self.rows.isEmpty else { return nil }
    self.title = title
    let ends = self.rows.flatMap { row in row.rawMedian.map { [row.spread.low / $0, row.spread.high / $0] } ?? [] }
    low = min(-1, log10(ends.min() ?? 1).rounded(.down))
    high = max(1, log10(ends.max() ?? 1).rounded(.up))
  }

  var svg: String {
    var body = ""
    var y = 66.0
    var index = 0
    while index < rows.count {
      let metric = rows[index].metric
      let better = metric.isHigherBetter ? "higher is better" : "lower is better"
      body += text(10, y, "\(metric.title) (\(better))", "font-weight=\"bold\"")
      y += RatioPlot.rowHeight + 2
      while index < rows.count, rows[index].metric == metric {
        body += line(rows[index], y)
        y += RatioPlot.rowHeight
        index += 1
      }
      y += 8
    }
    let size = "width=\"\(px(RatioPlot.width))\" height=\"\(px(y + 6))\""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" \(size) font-family="sans-serif" font-size="11">
      <rect \(size) fill="white"/>
      \(text(10, 20, title, "font-size=\"15\" font-weight=\"bold\""))\(grid(y))\(body)</svg>

      """
  }

  /// A line at each power of ten, with its number above.
  private func grid(_ bottom: Double) -> String {
    var text = ""
    for power in Int(low)...Int(high) {
      let place = x(pow(10, Double(power)))
      let stroke = power == 0 ? "#888888" : "#dddddd"
      text += "<line x1=\"\(px(place))\" y1=\"44\" x2=\"\(px(place))\" y2=\"\(px(bottom))\" stroke=\"\(stroke)\"/>\n"
      text += self.text(place - 8, 40, Quantity.decimal(pow(10, Double(power))), "")
    }
    return text
  }

  private func line(_ row: ResultRow, _ y: Double) -> String {
    guard let raw = row.rawMedian, let ratio = row.ratioToRaw else { return "" }
    let color = RatioPlot.colors[row.engine] ?? "black"
    let middle = y - 4
    let ends = "x1=\"\(px(x(row.spread.low / raw)))\" x2=\"\(px(x(row.spread.high / raw)))\""
    return text(20, y, row.engine.rawValue, "")
      + text(120, y, "\(Quantity.decimal(ratio)) x raw", "fill=\"#666666\"")
      + "<line \(ends) y1=\"\(px(middle))\" y2=\"\(px(middle))\" stroke=\"\(color)\" stroke-width=\"3\"/>\n"
      + "<circle cx=\"\(px(x(ratio)))\" cy=\"\(px(middle))\" r=\"4\" fill=\"\(color)\"/>\n"
  }

  /// The place of a ratio on the scale.
  private func x(_ ratio: Double) -> Double {
    RatioPlot.labels + (log10(ratio) - low) / (high - low) * (RatioPlot.width - RatioPlot.labels - 30)
  }

  private func text(_ x: Double, _ y: Double, _ text: String, _ attributes: String) -> String {
    "<text x=\"\(px(x))\" y=\"\(px(y))\" \(attributes)>\(XML.escaped(text))</text>\n"
  }

  private func px(_ value: Double) -> String { Quantity.fixed(value, places: 1) }
}
