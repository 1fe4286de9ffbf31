import Vitrine

/// The estimated misses of a store by its byte budget, as inline SVG. A dot is the measured ratio at the present
/// budget.
struct MissCurveChart {
  let curve: MissCurve
  let policy: EvictionPolicy

  private static let (left, right, top, bottom) = (48.0, 760.0, 12.0, 228.0)
  private static let color = "#3b76c4"

  var html: String {
    "<div class=\"scroll\">\(svg)</div><p class=\"legend\">The line is an estimate for lru, from a sample of "
      + "\(PageText.count(curve.requestCount)) requests. The dot is the measured ratio of the same requests under "
      + "\(PageText.escaped(policy.name)): \(PageText.percent(curve.missRatio)).</p>"
  }

  private var svg: String {
    let points = curve.points.enumerated().map { "\(x($0.offset)),\(y($0.element.missRatio))" }
    let present = curve.points.firstIndex { $0.byteBudget >= curve.byteBudget } ?? 0
    return """
      <svg viewBox="0 0 800 270" role="img" aria-label="Misses by byte budget">
      \(grid)<polyline fill="none" stroke="\(MissCurveChart.color)" stroke-width="2" points="\(
        points.joined(separator: " "))"/>
      <circle cx="\(x(present))" cy="\(y(curve.missRatio))" r="5" fill="#d9643a"/>
      <text x="\(PageText.fixed((MissCurveChart.left + MissCurveChart.right) / 2))" y="264" text-anchor="middle">budget
      </text></svg>
      """
  }

  private var grid: String {
    let (left, right) = (MissCurveChart.left, MissCurveChart.right)
    var text = ""
    for percent in [0, 25, 50, 75, 100] {
      let y = y(Double(percent) / 100)
      text += "<line class=\"grid\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y)\" y2=\"\(y)\"/>"
      text += "<text x=\"\(left - 6)\" y=\"\(y)\" text-anchor=\"end\">\(percent)%</text>"
    }
    for (index, point) in curve.points.enumerated() {
      text += "<text x=\"\(x(index))\" y=\"\(MissCurveChart.bottom + 18)\" text-anchor=\"middle\">"
      text += "\(PageText.bytes(point.byteBudget))</text>"
    }
    return text
  }

  /// The budgets are powers of 2 of each other, so they are equally far apart on a logarithmic scale.
  private func x(_ index: Int) -> String {
    let (left, right) = (MissCurveChart.left, MissCurveChart.right)
    return PageText.fixed(left + (right - left) * (Double(index) + 0.5) / Double(max(1, curve.points.count)))
  }

  private func y(_ ratio: Double) -> String {
    PageText.fixed(MissCurveChart.bottom - (MissCurveChart.bottom - MissCurveChart.top) * min(1, max(0, ratio)))
  }
}
