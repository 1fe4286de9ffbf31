/// The results of one run of the command.
struct ReplayResults {
  let traceName: String
  let seed: UInt64
  /// The sums of the trace; nil if the budget was given in bytes, because then the objects need not be counted.
  let totals: TraceTotals?
  let isComparison: Bool
  var replays: [ReplayReport] = []
  var simulations: [SimulationReport] = []
  /// Nil if the curves are not checked.
  var curves: [CurveCheck]?

  /// The budgets in their order, each with its replays, at least one.
  var byBudget: [(budget: ReplayBudget, replays: [ReplayReport])] {
    var groups: [(budget: ReplayBudget, replays: [ReplayReport])] = []
    for replay in replays {
      if let index = groups.firstIndex(where: { $0.budget == replay.budget }) {
        groups[index].replays.append(replay)
      } else {
        groups.append((replay.budget, [replay]))
      }
    }
    return groups
  }
}
