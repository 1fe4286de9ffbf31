/// All possible faults of runs like those recorded on the given disks, in an order that the seed determines. The first
/// part has one possible fault of each call, external events at some dozens of moments, and damage of the closed store.
/// The second part has all other faults of each call.
struct FaultTour {
  struct Stop {
    let misfortune: Misfortune
    /// Whether its disk promises allocation.
    let promisesAllocation: Bool
    /// The only stop of its call in the first part.
    var isFirstOfCall = false
    /// Other faults of the call, in case this one has no effect: a read of no bytes cannot return a wrong bit.
    var others: [Misfortune] = []
  }

  let stops: [Stop]
  let callCount: Int
  /// The number of ways in which all the calls can fail.
  let wayCount: Int

  /// Each disk gets a part of the external events and of the damage, and all faults of its own calls.
  init(_ disks: [SimulatedDisk], seed: UInt64) {
    var numbers = SplitMix64(seed: seed)
    var first: [Stop] = []
    var rest: [Stop] = []
    func add(_ misfortune: Misfortune) {
      let disk = disks[first.count % disks.count]
      first.append(Stop(misfortune: misfortune, promisesAllocation: disk.promisesAllocation))
    }
    for number in 1...60 { add(.damage(PlantedDamage(number: number + Int(seed % 1_000_000) * 60))) }
    let mostCalls = disks.map(\.callCount).min() ?? 0
    let step = max(1, mostCalls / 20)
    for kind in WorldEvent.Kind.allCases {
      for call in stride(from: 1 + Int(seed % UInt64(step)), through: mostCalls, by: step) {
        add(.event(WorldEvent(kind: kind, call: call)))
      }
    }
    let otherCount = first.count
    for disk in disks {
      let promises = disk.promisesAllocation
      for call in DiskCall.allCases where disk.callCount(call) > 0 {
        let effects = FaultInjection.effects(of: call)
        for occurrence in 1...disk.callCount(call) {
          var ways = effects.map { Misfortune.call(FaultInjection(call: call, occurrence: occurrence, effect: $0)) }
          let chosen = ways.remove(at: numbers.below(ways.count))
          first.append(Stop(misfortune: chosen, promisesAllocation: promises, isFirstOfCall: true, others: ways))
          rest += ways.map { Stop(misfortune: $0, promisesAllocation: promises) }
        }
      }
    }
    callCount = first.count - otherCount
    wayCount = callCount + rest.count
    stops = first.shuffled(using: &numbers) + rest.shuffled(using: &numbers)
  }
}
