/// The results of one simulation of object-by-object eviction.
struct SimulationReport {
  enum Capacity: String {
    /// The payload bytes that the stores of this budget held on average.
    case live
    /// The whole budget, as if a store took no space beside payloads.
    case budget
  }

  let policy: String
  let budget: ReplayBudget
  let capacity: Capacity
  let byteCapacity: Int
  private(set) var counts = MissCounts()

  /// Runs all policies with both capacities of each budget, in one pass through the trace.
  static func all(_ trace: Trace, _ results: ReplayResults, progress: Progress) throws -> [SimulationReport] {
    var reports: [SimulationReport] = []
    var caches: [any CacheSimulation] = []
    for (budget, replays) in results.byBudget {
      let live = replays.reduce(0) { $0 + $1.usage.averageLiveByteCount } / replays.count
      for (capacity, byteCapacity) in [(Capacity.live, live), (.budget, budget.byteCount)] {
        for policy in CacheSimulations.all {
          reports.append(
            SimulationReport(policy: policy.name, budget: budget, capacity: capacity, byteCapacity: byteCapacity))
          caches.append(policy.init(byteCapacity: byteCapacity))
        }
      }
    }
    try trace.readAll { request, reader in
      for index in caches.indices {
        reports[index].counts.add(request.byteCount, isHit: caches[index].request(request))
      }
      progress.show(reader.position, of: reader.byteCount)
    }
    return reports
  }
}
