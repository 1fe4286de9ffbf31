import CacheCtlKit
import Vitrine

/// A miss-ratio curve as a plot of bars, a row for each budget.
struct MissCurvePlot {
  let curve: MissCurve
  let policy: EvictionPolicy
  let symbols: Bar.Symbols

  private static let factors = ["1/8", "1/4", "1/2", "now", "x 2", "x 4", "x 8"]

  /// At most 80 columns wide, with a line break at the end.
  var text: String {
    let bar = Bar(symbols: symbols, width: 40)
    var table = Table([.left, .left, .right, .left])
    table.add(["budget", "", "misses"])
    for (point, factor) in zip(curve.points, Self.factors) {
      table.add([Quantity.bytes(point.byteBudget), factor, percent(point.missRatio), row(point.missRatio, bar)])
    }
    table.add(["measured", policy.name, percent(curve.missRatio), row(curve.missRatio, bar)])
    return table.text(indentation: "  ")
      + "  under lru, estimated from a sample of \(Quantity.count(curve.requestCount, "request", "requests"))\n"
  }

  private func percent(_ ratio: Double) -> String { Quantity.fixed(100 * ratio, places: 1) + " %" }

  /// The whole width stands for a ratio of 1.
  private func row(_ ratio: Double, _ bar: Bar) -> String { bar.text(Int(ratio * 1_000_000), of: 1_000_000) }
}
