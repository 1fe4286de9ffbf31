/// The part of the requests that were answered within a time, a line for each command, as inline SVG.
struct LatencyPlot {
  let requests: [(kind: RequestKind, latencies: LatencyHistogram)]

  private static let (left, right, top, bottom) = (48.0, 784.0, 12.0, 228.0)
  private static let colors = [
    "#3b76c4", "#d9643a", "#3f9a6b", "#8c5fbf", "#c9a227", "#2fa3a8", "#c44f8a", "#7a8594",
  ]

  static func color(_ index: Int) -> String { colors[index % colors.count] }

  var svg: String {
    if requests.isEmpty { return "" }
    return """
      <svg viewBox="0 0 800 270" role="img" aria-label="Part of the requests that were answered within a time">
      \(grid)\(requests.enumerated().map { line($0.offset, $0.element.latencies) }.joined())
      <text x="\((LatencyPlot.left + LatencyPlot.right) / 2)" y="264" text-anchor="middle">answered within</text></svg>
      """
  }

  private var grid: String {
    var text = ""
    for percent in [0, 25, 50, 75, 100] {
      let y = LatencyPlot.y(Double(percent) / 100)
      text += "<line class=\"grid\" x1=\"\(LatencyPlot.left)\" x2=\"\(LatencyPlot.right)\" y1=\"\(y)\" y2=\"\(y)\"/>"
      text += "<text x=\"\(LatencyPlot.left - 6)\" y=\"\(y + 4)\" text-anchor=\"end\">\(percent)%</text>"
    }
    for (index, bound) in Latencies.bounds.enumerated() where index % 3 == 2 {
      text += "<text x=\"\(LatencyPlot.x(index + 1))\" y=\"\(LatencyPlot.bottom + 18)\" text-anchor=\"middle\">"
      text += "\(PageText.time(bound))</text>"
    }
    return text
  }

  private func line(_ index: Int, _ latencies: LatencyHistogram) -> String {
    let total = Double(max(1, latencies.count))
    let parts = [0] + latencies.cumulativeCounts.map { Double($0) / total }
    let points = parts.enumerated().map { "\(LatencyPlot.x($0.offset)),\(PageText.fixed(LatencyPlot.y($0.element)))" }
    let text = points.joined(separator: " ")
    return "<polyline fill=\"none\" stroke=\"\(LatencyPlot.color(index))\" stroke-width=\"2\" points=\"\(text)\"/>"
  }

  /// The place of a bound. The bounds are about equally far apart on a logarithmic scale.
  private static func x(_ step: Int) -> String {
    PageText.fixed(left + (right - left) * Double(step) / Double(Latencies.bounds.count + 1))
  }

  private static func y(_ part: Double) -> Double { bottom - (bottom - top) * part }
}
