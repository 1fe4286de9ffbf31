/// What goes wrong in a run.
enum Misfortune: CustomStringConvertible {
  case call(FaultInjection)
  case event(WorldEvent)
  case damage(PlantedDamage)

  /// No workload makes as many calls.
  private static let mostCalls = 1 << 32

  init?(words: [String]) {
    if let event = WorldEvent(words: words) {
      self = .event(event)
    } else if let damage = PlantedDamage(words: words) {
      self = .damage(damage)
    } else if let injection = FaultInjection(words: words) {
      self = .call(injection)
    } else {
      return nil
    }
  }

  static func number(_ word: String) -> Int? { Int(word).flatMap { (1...mostCalls).contains($0) ? $0 : nil } }

  var description: String {
    switch self {
    case .call(let injection): "\(injection)"
    case .event(let event): "\(event)"
    case .damage(let damage): "\(damage)"
    }
  }

  /// In two words at most, for a report.
  var kind: String {
    switch self {
    case .call(let injection): "\(injection.call) \(injection.effect.rawValue)"
    case .event(let event): "\(event.kind.rawValue)"
    case .damage: "damage"
    }
  }

  var harm: Harm {
    switch self {
    case .call(let injection): injection.harm
    case .event: .none
    case .damage: .pagesAreWrong
    }
  }

  /// All that can go wrong in a run like the one that this disk has seen: each of its calls in each way, and what others
  /// do at some dozens of moments.
  static func all(of disk: SimulatedDisk, seed: UInt64) -> [Misfortune] {
    var all: [Misfortune] = []
    for call in DiskCall.allCases {
      for occurrence in 1...max(1, disk.callCount(call)) {
        for effect in FaultInjection.effects(of: call) {
          all.append(.call(FaultInjection(call: call, occurrence: occurrence, effect: effect)))
        }
      }
    }
    let step = max(1, disk.callCount / 40)
    for kind in WorldEvent.Kind.allCases {
      for call in stride(from: 1 + Int(seed % UInt64(step)), through: disk.callCount, by: step) {
        all.append(.event(WorldEvent(kind: kind, call: call)))
      }
    }
    return all + (1...60).map { .damage(PlantedDamage(number: $0 + Int(seed % 1_000_000) * 60)) }
  }
}

/// The most that may be amiss behind a misfortune, each with what comes before it.
package enum Harm: Comparable {
  /// Nothing is missing that was acknowledged.
  case none
  /// The disk gave nothing or nonsense for a moment: entries may have gone for it.
  case entriesMayMiss
  /// It gave what it once held: entries may be older than they were.
  case entriesMayBeOlder
  /// What it holds is wrong for good. `verify` may say so.
  case pagesAreWrong
}
