import CacheCtlKit
import Glibc

/// Miss ratios by budget as an SVG picture: a line for each policy of the store, and a broken line for the same policy,
/// simulated object by object with as much payload.
struct ReplayPlot {
  private struct Series {
    let name: String
    let color: String
    let isSimulated: Bool
    /// Budgets and miss ratios.
    var points: [(budget: Double, ratio: Double)]
  }

  private struct Area {
    let left = 64.0
    let top = 48.0
    let right = 520.0
    let bottom = 360.0
  }

  private static let (width, height) = (720, 420)
  private static let colors = ["#1b6ca8", "#c44536", "#2a7f62", "#8e5ea2", "#b07d12", "#444444", "#0f8b8d", "#d1495b"]

  private let title: String
  private let series: [Series]
  private let budgets: [ReplayBudget]
  private let area = Area()
  /// The budgets at the two edges, which differ.
  private let range: ClosedRange<Double>
  /// The ratio at the top.
  private let top: Double

  init(_ results: ReplayResults) {
    let file = results.traceName.split(separator: "/").last ?? ""
    title = "\(file): miss ratio by budget"
    budgets = results.byBudget.map(\.budget)
    var series: [Series] = []
    func add(_ name: String, _ isSimulated: Bool, _ budget: ReplayBudget, _ ratio: Double) {
      let point = (budget: Double(budget.byteCount), ratio: ratio)
      if let index = series.firstIndex(where: { $0.name == name }) {
        series[index].points.append(point)
      } else {
        let color = ReplayPlot.colors[series.count % ReplayPlot.colors.count]
        series.append(Series(name: name, color: color, isSimulated: isSimulated, points: [point]))
      }
    }
    for replay in results.replays { add(replay.policy.name, false, replay.budget, replay.counts.missRatio) }
    for report in results.simulations where report.isCounterpart {
      add("\(report.policy), simulated", true, report.budget, report.counts.missRatio)
    }
    self.series = series.map { series in
      var series = series
      series.points.sort { $0.budget < $1.budget }
      return series
    }
    let least = budgets.map { Double($0.byteCount) }.min() ?? 1
    let most = budgets.map { Double($0.byteCount) }.max() ?? 1
    range = (least / 1.5)...(most * 1.5)
    let largest = series.flatMap(\.points).map(\.ratio).max() ?? 1
    top = max(0.1, (largest * 10).rounded(.up) / 10)
  }

  var svg: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(ReplayPlot.width)" height="\(ReplayPlot.height)" \
    viewBox="0 0 \(ReplayPlot.width) \(ReplayPlot.height)" font-family="sans-serif" font-size="12">
    <rect width="100%" height="100%" fill="white"/>
    \(text(title, x: area.left, y: 26, size: 15))
    \(grid)
    \(series.map(line).joined(separator: "\n"))
    \(legend)
    </svg>

    """
  }

  private var grid: String {
    var lines: [String] = []
    for step in 0...5 {
      let ratio = top * Double(step) / 5
      lines.append(
        "<line x1=\"\(area.left)\" y1=\"\(y(ratio))\" x2=\"\(area.right)\" y2=\"\(y(ratio))\" stroke=\"#dddddd\"/>")
      lines.append(text(Quantity.fixed(ratio, places: 2), x: area.left - 8, y: y(ratio) + 4, anchor: "end"))
    }
    for budget in budgets {
      let x = x(Double(budget.byteCount))
      lines.append(
        "<line x1=\"\(x)\" y1=\"\(area.top)\" x2=\"\(x)\" y2=\"\(area.bottom)\" stroke=\"#eeeeee\"/>")
      let name = budget.share.map { ReplayText.sharePercent($0) } ?? Quantity.bytes(budget.byteCount)
      lines.append(text(name, x: x, y: area.bottom + 18, anchor: "middle"))
    }
    let axis = budgets.contains { $0.share != nil } ? "budget, share of all objects' bytes" : "budget"
    lines.append(text(axis, x: (area.left + area.right) / 2, y: area.bottom + 40, anchor: "middle"))
    return lines.joined(separator: "\n")
  }

  private func line(_ series: Series) -> String {
    let points = series.points.map { "\(x($0.budget)),\(y($0.ratio))" }
    let dash = series.isSimulated ? " stroke-dasharray=\"5 4\"" : ""
    let marks = series.points.map { point in
      "<circle cx=\"\(x(point.budget))\" cy=\"\(y(point.ratio))\" r=\"3\" fill=\"\(series.color)\"/>"
    }
    return """
      <polyline points="\(points.joined(separator: " "))" fill="none" stroke="\(series.color)" stroke-width="2"\(dash)/>
      \(marks.joined(separator: "\n"))
      """
  }

  private var legend: String {
    series.enumerated().map { index, series in
      let y = area.top + 10 + 20 * Double(index)
      let dash = series.isSimulated ? " stroke-dasharray=\"5 4\"" : ""
      return """
        <line x1="\(area.right + 16)" y1="\(y)" x2="\(area.right + 44)" y2="\(y)" stroke="\(series.color)" \
        stroke-width="2"\(dash)/>
        \(text(series.name, x: area.right + 52, y: y + 4))
        """
    }.joined(separator: "\n")
  }

  /// By the logarithm of the budget.
  private func x(_ budget: Double) -> Double {
    let position = log(budget / range.lowerBound)
    let whole = log(range.upperBound / range.lowerBound)
    return rounded(area.left + (area.right - area.left) * position / whole)
  }

  private func y(_ ratio: Double) -> Double {
    rounded(area.bottom - (area.bottom - area.top) * ratio / top)
  }

  private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }

  private func text(_ text: String, x: Double, y: Double, anchor: String = "start", size: Int = 12) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\" font-size=\"\(size)\">\(XML.escaped(text))</text>"
  }
}
