import VitrineSimulation

/// The moment at which a writer is killed.
enum KillMoment {
  /// This long after it began to open the store.
  case opening(microseconds: Int)
  /// This long after the store was open.
  case working(microseconds: Int)
  /// As soon as this many changes were acknowledged.
  case acknowledged(count: Int)
  /// This long after the first change of a kind began, after this many acknowledged ones.
  case begun(KillOperation.Kind, after: Int, microseconds: Int)
  /// This long after it began to close the store, at the end of all its work.
  case closing(microseconds: Int)
  /// By itself, at a call of the file system.
  case itself(DeadlyMoment)

  /// The calls whose order matters, and roughly how often a writer makes them in a second.
  private static let calls: [(call: DeadlyMoment.Call, folder: String, often: Int)] = [
    (.store, "wal", 2000), (.store, "segments", 1000), (.write, "segments", 500), (.write, "wal", 8),
    (.write, "checkpoints", 30), (.write, "", 4), (.sync, "wal", 200), (.sync, "segments", 100),
    (.sync, "checkpoints", 10),
    (.create, "segments", 50), (.allocate, "segments", 50), (.remove, "segments", 30), (.remove, "segments", 3),
    (.truncate, "segments", 20),
  ]

  /// A call of a writer at work, or, with fewer calls, of one that opens the store.
  static func itself(_ random: inout SplitMix64, isOpening: Bool) -> KillMoment {
    let (call, folder, often) = calls[random.next(below: calls.count)]
    let count = 1 + random.next(below: isOpening ? min(often, 4) : often)
    return .itself(DeadlyMoment(call, folder, count: count, isBefore: random.next(below: 2) == 0))
  }

  /// A moment of a writer at work.
  init(_ random: inout SplitMix64) {
    switch random.next(below: 30) {
    case 20...: self = .itself(&random, isOpening: false)
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
