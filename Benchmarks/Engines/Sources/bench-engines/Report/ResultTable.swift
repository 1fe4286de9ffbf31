import CacheCtlKit

/// The results as a Markdown document, with columns that also line up as plain text.
enum ResultTable {
  /// The facts of the run, and the ratios of all engines beside each other.
  static func overview(_ results: Results, _ workloads: [any Workload], _ run: RunFacts) -> String {
    var text = "# Storage engines side by side\n\n"
    for line in run.lines { text += "- \(line)\n" }
    text += "\nThe columns behind `raw` have ratios to it. A star marks metrics of which less is better.\n"
    for workload in workloads {
      let rows = results.rows(workload.name)
      if rows.isEmpty { continue }
      let engines = EngineKind.allCases.filter { engine in rows.contains { $0.engine == engine } }
      text += heading(workload, run) + "\n"
      text += table([["metric"] + engines.map(\.rawValue)] + groups(rows).map { line($0, engines) })
    }
    return text
  }

  private static func line(_ rows: [ResultRow], _ engines: [EngineKind]) -> [String] {
    guard let metric = rows.first?.metric else { return [] }
    let cells = engines.map { engine in
      guard let row = rows.first(where: { $0.engine == engine }) else { return "" }
      let median = Quantity.text(row.spread.median, metric.unit)
      return engine == .raw ? median : row.ratioToRaw.map(Quantity.decimal) ?? median
    }
    return [metric.name + (metric.isHigherBetter ? "" : " *")] + cells
  }

  private static func heading(_ workload: any Workload, _ run: RunFacts) -> String {
    "\n## \(workload.name)\(run.isQuick ? " (QUICK: smaller counts)" : "")\n\n\(workload.note).\n"
  }

  /// The rows of each metric.
  private static func groups(_ rows: [ResultRow]) -> [[ResultRow]] {
    var groups: [[ResultRow]] = []
    for row in rows {
      if groups.last?.first?.metric == row.metric { groups[groups.count - 1].append(row) } else { groups.append([row]) }
    }
    return groups
  }

  private static let head = ["engine", "median", "low", "high", "x raw"]

  /// The overview, and every metric with its lowest and highest values.
  static func text(_ results: Results, _ workloads: [any Workload], _ run: RunFacts) -> String {
    var text = overview(results, workloads, run) + "\n# Medians, lowest and highest values\n"
    for workload in workloads {
      let rows = results.rows(workload.name)
      if rows.isEmpty { continue }
      text += heading(workload, run)
      for group in groups(rows) { text += "\n" + section(group) }
    }
    return text
  }

  /// The rows of one metric.
  private static func section(_ rows: [ResultRow]) -> String {
    guard let metric = rows.first?.metric else { return "" }
    let better = metric.isHigherBetter ? "higher is better" : "lower is better"
    let cells = rows.map { row in
      [
        row.engine.rawValue, Quantity.text(row.spread.median, metric.unit), Quantity.text(row.spread.low, metric.unit),
        Quantity.text(row.spread.high, metric.unit), row.ratioToRaw.map(Quantity.decimal) ?? "-",
      ]
    }
    return "**\(metric.title)** (`\(metric.name)`; \(better))\n\n" + table([head] + cells)
  }

  private static func table(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      let padded = cells.enumerated().map { column, cell in
        let gap = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + gap : gap + cell
      }
      return "| " + padded.joined(separator: " | ") + " |\n"
    }
    let rule = widths.enumerated().map { column, width in
      String(repeating: "-", count: max(1, width - 1)) + (column == 0 ? "-" : ":")
    }
    return line(rows[0]) + line(rule) + rows.dropFirst().map(line).joined()
  }
}
