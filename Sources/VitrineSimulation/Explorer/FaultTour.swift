/// All that can go wrong in a run like one that a disk has seen, in an order of the seed: each of its calls in one of the ways
/// in which it can, among what others do at some dozens of moments and damage at rest; then each call in all the other ways.
struct FaultTour {
  struct Stop {
    let misfortune: Misfortune
    /// The only one of its call in the first part.
    var isFirstOfCall = false
    /// What else can become of the call, should this strike nothing: a read of nothing gives no wrong bit.
    var others: [Misfortune] = []
  }

  let stops: [Stop]
  let callCount: Int
  /// In which all the calls can go wrong.
  let wayCount: Int

  init(_ disk: SimulatedDisk, seed: UInt64) {
    var numbers = SplitMix64(seed: seed)
    var first: [Stop] = (1...60).map {
      Stop(misfortune: .damage(PlantedDamage(number: $0 + Int(seed % 1_000_000) * 60)))
    }
    let step = max(1, disk.callCount / 20)
    for kind in WorldEvent.Kind.allCases {
      for call in stride(from: 1 + Int(seed % UInt64(step)), through: disk.callCount, by: step) {
        first.append(Stop(misfortune: .event(WorldEvent(kind: kind, call: call))))
      }
    }
    let otherCount = first.count
    var rest: [Stop] = []
    for call in DiskCall.allCases where disk.callCount(call) > 0 {
      let effects = FaultInjection.effects(of: call)
      for occurrence in 1...disk.callCount(call) {
        var ways = effects.map { Misfortune.call(FaultInjection(call: call, occurrence: occurrence, effect: $0)) }
        let chosen = ways.remove(at: numbers.below(ways.count))
        first.append(Stop(misfortune: chosen, isFirstOfCall: true, others: ways))
        rest += ways.map { Stop(misfortune: $0) }
      }
    }
    callCount = first.count - otherCount
    wayCount = callCount + rest.count
    stops = first.shuffled(using: &numbers) + rest.shuffled(using: &numbers)
  }
}
