/// A fault, an external event or damage in a run.
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

  /// At most two words, for a report.
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
}
