import VitrineSimulation

/// When a writer is killed.
enum KillMoment {
  /// So long after it began to open the store.
  case opening(microseconds: Int)
  /// So long after the store was open.
  case working(microseconds: Int)
  /// As soon as so many changes were acknowledged.
  case acknowledged(count: Int)
  /// So long after the first change of a kind began, when so many were acknowledged before.
  case begun(KillOperation.Kind, after: Int, microseconds: Int)
  /// So long after it began to close the store, at the end of all its work.
  case closing(microseconds: Int)

  /// Of a writer at work.
  init(_ random: inout SplitMix64) {
    switch random.next(below: 20) {
    case 0: self = .closing(microseconds: random.next(below: 6000))
    case ..<7: self = .working(microseconds: 1 << random.next(below: 19) + random.next(below: 400))
    case ..<11: self = .acknowledged(count: 1 + random.next(below: 1 << (1 + random.next(below: 12))))
    default:
      let kinds = KillOperation.Kind.allCases
      let microseconds = random.next(below: 3) == 0 ? 0 : random.next(below: 1 << (4 + random.next(below: 9)))
      self = .begun(
        kinds[random.next(below: kinds.count)], after: random.next(below: 1500), microseconds: microseconds)
    }
  }
}
