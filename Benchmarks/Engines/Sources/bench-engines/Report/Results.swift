/// A row of the results: one metric of one engine in one workload.
struct ResultRow {
  let workload: String
  let metric: Metric
  let engine: EngineKind
  let spread: Spread
  /// The median of `raw` for the metric's baseline; nil if `raw` was not measured.
  let rawMedian: Double?

  /// The engine's median over that of `raw`.
  var ratioToRaw: Double? { rawMedian.flatMap { $0 > 0 ? spread.median / $0 : nil } }
}

/// All samples of a run.
struct Results {
  private struct Place: Hashable {
    let workload: String
    let metric: Metric
    let engine: EngineKind
  }

  private var workloads: [String] = []
  private var metrics: [String: [Metric]] = [:]
  private var values: [Place: [Double]] = [:]

  mutating func add(_ samples: [Sample], workload: String, engine: EngineKind) {
    if !workloads.contains(workload) { workloads.append(workload) }
    for sample in samples {
      let known = metrics[workload] ?? []
      if !known.contains(sample.metric) { metrics[workload] = known + [sample.metric] }
      values[Place(workload: workload, metric: sample.metric, engine: engine), default: []].append(sample.value)
    }
  }

  /// Rows by workload, metric and engine, in the order in which they were measured.
  var rows: [ResultRow] { workloads.flatMap(rows) }

  func rows(_ workload: String) -> [ResultRow] {
    (metrics[workload] ?? []).flatMap { metric in
      EngineKind.allCases.compactMap { engine in
        guard let spread = spread(workload, metric, engine) else { return nil }
        return ResultRow(
          workload: workload, metric: metric, engine: engine, spread: spread,
          rawMedian: rawMedian(workload, metric))
      }
    }
  }

  private func rawMedian(_ workload: String, _ metric: Metric) -> Double? {
    let baseline = metrics[workload]?.first { $0.name == metric.baseline }
    return baseline.flatMap { spread(workload, $0, .raw)?.median }
  }

  private func spread(_ workload: String, _ metric: Metric, _ engine: EngineKind) -> Spread? {
    values[Place(workload: workload, metric: metric, engine: engine)].flatMap { Spread($0) }
  }
}
