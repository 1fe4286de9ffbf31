import CacheCtlKit
import Vitrine

/// The curve that a store has estimated during a replay, beside a simulated LRU cache of each of its sizes.
struct CurveCheck {
  let policy: EvictionPolicy
  let budget: ReplayBudget
  /// Nil if the trace was too short for an estimate.
  let curve: MissCurve?
  /// The simulated outcomes, one for each point of the curve.
  private(set) var simulated: [MissCounts] = []

  /// The differences between estimated and simulated miss ratios.
  var errors: [Double] { zip(curve?.points ?? [], simulated).map { $0.missRatio - $1.missRatio } }

  var meanError: Double { errors.isEmpty ? 0 : errors.reduce(0) { $0 + abs($1) } / Double(errors.count) }

  /// Checks the curves of all replays, in one pass through the trace.
  static func all(_ trace: Trace, _ results: ReplayResults, progress: Progress) throws -> [CurveCheck] {
    var checks = results.replays.map { CurveCheck(policy: $0.policy, budget: $0.budget, curve: $0.curve) }
    let caches = checks.map { ($0.curve?.points ?? []).map { LRU(byteCapacity: $0.valueByteCount) } }
    for index in checks.indices { checks[index].simulated = caches[index].map { _ in MissCounts() } }
    try trace.readAll { request, reader in
      for index in checks.indices {
        for (point, cache) in caches[index].enumerated() {
          checks[index].simulated[point].add(request.byteCount, isHit: cache.request(request))
        }
      }
      progress.show(reader.position, of: reader.byteCount)
    }
    return checks
  }

  var text: String {
    guard let curve else { return "curve of \(policy.name): too few requests or objects\n" }
    var table = Table([.left, .right, .right, .right, .right])
    table.add(["budget", "values", "estimated", "simulated LRU", "error"])
    for (index, point) in curve.points.enumerated() {
      table.add([
        Quantity.bytes(point.byteBudget), Quantity.bytes(point.valueByteCount), percent(point.missRatio),
        percent(simulated[index].missRatio), percent(errors[index]),
      ])
    }
    table.add(["mean", "", "", "", percent(meanError)])
    return "curve of \(policy.name), budget \(Quantity.bytes(budget.byteCount))\n" + table.text(indentation: "  ")
  }

  private func percent(_ ratio: Double) -> String {
    (ratio < 0 ? "-" : "") + Quantity.fixed(100 * abs(ratio), places: 2) + " %"
  }

  var json: JSON {
    .object([
      ("policy", .string(policy.name)), ("budget_bytes", .int(budget.byteCount)),
      ("mean_error", curve == nil ? .null : .rounded(meanError, places: 6)),
      (
        "points",
        .array(
          zip(curve?.points ?? [], simulated).map { point, counts in
            .object([
              ("budget_bytes", .int(point.byteBudget)), ("value_bytes", .int(point.valueByteCount)),
              ("miss_ratio", .rounded(point.missRatio, places: 6)),
              ("simulated_miss_ratio", .rounded(counts.missRatio, places: 6)),
            ])
          })
      ),
    ])
  }
}
