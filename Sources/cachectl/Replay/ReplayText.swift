import CacheCtlKit

/// The report of `replay` for people.
enum ReplayText {
  static func text(_ results: ReplayResults) -> String {
    let requestCount = results.replays.first?.counts.requestCount ?? 0
    var text = "\(results.traceName): \(Quantity.count(requestCount, "request", "requests"))"
    if let totals = results.totals {
      text += ", \(Quantity.count(totals.objectCount, "object", "objects")) of "
      text += "\(Quantity.bytes(totals.distinctByteCount))"
    }
    text += "\n\n"
    if !results.isComparison, results.replays.count == 1, let report = results.replays.first {
      text += single(report)
    } else {
      text += comparison(results)
    }
    return text + (results.curves ?? []).map { "\n" + $0.text }.joined()
  }

  private static func single(_ report: ReplayReport) -> String {
    var table = Table([.left, .left])
    table.add(["policy", report.policy.name])
    table.add(["budget", name(report.budget)])
    table.add([
      "misses",
      "\(percent(report.counts.missRatio)) of the requests, \(percent(report.counts.byteMissRatio)) of the bytes",
    ])
    table.add(["live", live(report.usage)])
    table.add(["on disk", "\(Quantity.bytes(report.usage.mostBytesOnDisk)) at most"])
    table.add(["written", written(report)])
    table.add(["evicted", Quantity.count(report.evictionCount, "entry", "entries")])
    if report.refusedCount > 0 {
      let requests = Quantity.count(report.refusedCount, "request", "requests")
      table.add(["too large", "\(requests) of objects above the largest size that the budget allows"])
    }
    let rate = Quantity.count(Int(report.putsPerSecond))
    table.add(["puts", "\(rate) a second; \(latencies(report.puts))"])
    if let limit = report.byteRate {
      table.add(["paused", "so that at most \(Quantity.bytes(limit)) were put in a second"])
    }
    table.add(["hits", latencies(report.gets)])
    table.add(["in", Quantity.nanoseconds(report.seconds * 1e9)])
    return table.text(indentation: "  ")
  }

  private static func live(_ usage: UsageSamples) -> String {
    let end = Quantity.bytes(usage.liveByteCount)
    return usage.wasFull
      ? "\(Quantity.bytes(usage.averageLiveByteCount)) on average once full, \(end) at the end"
      : "\(end) at the end; the store was never full"
  }

  private static func written(_ report: ReplayReport) -> String {
    let engine = Quantity.fixed(report.engineAmplification, places: 3)
    guard report.written != nil else { return "\(engine) bytes for each byte put, by the engine's count" }
    let system = Quantity.fixed(report.writeAmplification, places: 3)
    return "\(system) bytes for each byte put, by the system's count; \(engine) by the engine's"
  }

  private static func latencies(_ histogram: LatencyHistogram) -> String {
    [
      ("median", histogram.nanoseconds(0.5)), ("99.9 %", histogram.nanoseconds(0.999)),
      ("longest", Int(histogram.longest)),
    ].map { "\($0) \(Quantity.nanoseconds(Double($1)))" }.joined(separator: ", ")
  }

  private static func comparison(_ results: ReplayResults) -> String {
    results.byBudget.map { budget, replays in
      let simulations = results.simulations.filter { $0.budget == budget }
      var table = Table([.left] + Array(repeating: .right, count: 9))
      table.add(
        ["", "misses", "of bytes", "live", "of budget", "on disk", "written", "put 50 %", "99.9 %", "longest"])
      for replay in replays {
        table.add([
          replay.policy.name, percent(replay.counts.missRatio), percent(replay.counts.byteMissRatio),
          Quantity.bytes(replay.usage.averageLiveByteCount),
          Quantity.fixed(
            100 * Double(replay.usage.averageLiveByteCount) / Double(budget.byteCount), places: 1) + " %",
          Quantity.bytes(replay.usage.mostBytesOnDisk),
          Quantity.fixed(replay.writeAmplification, places: 2) + " x",
          Quantity.nanoseconds(Double(replay.puts.nanoseconds(0.5))),
          Quantity.nanoseconds(Double(replay.puts.nanoseconds(0.999))),
          Quantity.nanoseconds(Double(replay.puts.longest)),
        ])
      }
      let limit = replays.first?.byteRate.map { ", at most \(Quantity.bytes($0)) put in a second" } ?? ""
      return "budget \(name(budget))\(limit)\n" + table.text(indentation: "  ")
        + simulated(results.simulations.filter { $0.budget == budget })
    }.joined(separator: "\n")
  }

  /// The miss ratios of the simulations of one budget: a row for each capacity, a column for each policy.
  private static func simulated(_ reports: [SimulationReport]) -> String {
    let policies = CacheSimulations.all.map { $0.name }
    guard !reports.isEmpty else { return "" }
    var table = Table([.left, .right] + policies.map { _ in .right })
    table.add(["misses, simulated by objects", "payload"] + policies)
    for row in stride(from: 0, to: reports.count, by: policies.count) {
      let reports = reports[row..<min(row + policies.count, reports.count)]
      guard let first = reports.first else { break }
      let name = first.store.map { "as much as \($0.name) held" } ?? "the whole budget"
      let ratios = reports.map { percent($0.counts.missRatio) }
      table.add(["  \(name)", Quantity.bytes(first.byteCapacity)] + ratios)
    }
    return table.text(indentation: "  ")
  }

  private static func name(_ budget: ReplayBudget) -> String {
    guard let share = budget.share else { return Quantity.bytes(budget.byteCount) }
    return "\(Quantity.bytes(budget.byteCount)) (\(sharePercent(share)) of all objects)"
  }

  /// `0.3 %`, `10 %`: without needless decimals.
  static func sharePercent(_ share: Double) -> String {
    var text = Quantity.fixed(100 * share, places: 3)
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return "\(text) %"
  }

  private static func percent(_ ratio: Double) -> String { Quantity.fixed(100 * ratio, places: 2) + " %" }
}
