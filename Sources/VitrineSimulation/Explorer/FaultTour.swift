/// All that can go wrong in runs like those that some disks have seen, in an order of the seed: each of their calls in one of the
/// ways in which it can, among what others do at some dozens of moments and damage at rest; then each call in all the other
/// ways.
struct FaultTour {
  struct Stop {
    let misfortune: Misfortune
    /// Of the disk.
    let promisesAllocation: Bool
    /// The only one of its call in the first part.
    var isFirstOfCall = false
    /// What else can become of the call, should this strike nothing: a read of nothing gives no wrong bit.
    var others: [Misfortune] = []
  }

  let stops: [Stop]
  let callCount: Int
  /// In which all the calls can go wrong.
  let wayCount: Int

  /// What others do and damage at rest they share: each meets its part.
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
