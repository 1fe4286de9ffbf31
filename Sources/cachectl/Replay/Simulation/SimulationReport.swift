import Vitrine

/// The results of one simulation of object-by-object eviction.
struct SimulationReport {
  enum Capacity: String {
    /// The payload bytes that a store of this budget held on average.
    case live
    /// The whole budget, as if a store took no space beside payloads.
    case budget
  }

  let policy: String
  let budget: ReplayBudget
  let capacity: Capacity
  /// The policy of the store that held the payload; nil if the capacity is the budget.
  let store: EvictionPolicy?
  let byteCapacity: Int
  private(set) var counts = MissCounts()

  /// Whether the simulated policy evicts by objects as that of the store does by segments.
  var isCounterpart: Bool { store.map { policy.lowercased().filter { $0 != "-" } == $0.name } ?? false }

  /// Runs all policies with the whole of each budget, and with the payload of each store, in one pass through the trace.
  static func all(_ trace: Trace, _ results: ReplayResults, progress: Progress) throws -> [SimulationReport] {
    var reports: [SimulationReport] = []
    var caches: [any CacheSimulation] = []
    for (budget, replays) in results.byBudget {
      func add(_ capacity: Capacity, _ store: EvictionPolicy?, _ byteCapacity: Int) {
        for policy in CacheSimulations.all {
          reports.append(
            SimulationReport(
              policy: policy.name, budget: budget, capacity: capacity, store: store, byteCapacity: byteCapacity))
          caches.append(policy.init(byteCapacity: byteCapacity))
        }
      }
      for replay in replays { add(.live, replay.policy, replay.usage.averageLiveByteCount) }
      add(.budget, nil, budget.byteCount)
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
