import Vitrine

/// The place of a violation, in one word, so that a command can inspect it again.
struct CrashPlace: CustomStringConvertible {
  struct Moment {
    var operationCount: Int
    /// The changes that survived the loss of power; nil if only the process died, and the disk has all changes.
    var policy: CrashPolicy?
  }

  enum Event {
    /// A loss of power; the second one interrupts the recovery from the first.
    case crash(Moment, second: Moment?, Verification)
    case fault([Misfortune], promisesAllocation: Bool)
  }

  let workload: String
  let round: Int
  let event: Event

  init(workload: String, round: Int, event: Event) {
    self.workload = workload
    self.round = round
    self.event = event
  }

  /// `WORKLOAD:ROUND:crash:VERIFICATION:MOMENT:POLICY[:MOMENT:POLICY]` or
  /// `WORKLOAD:ROUND:fault:MISFORTUNE[+MISFORTUNE]`, each of three words such as `write:12:torn`,
  /// `event:filled:300`; with `cow-fault` on a disk that does not promise blocks, like a copy-on-write file system.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 6, let round = Int(parts[1]), round >= 0 else { return nil }
    workload = parts[0]
    self.round = round
    switch parts[2] {
    case "crash":
      guard let verification = CrashPlace.verifications.first(where: { $0.word == parts[3] })?.mode,
        let first = CrashPlace.moment(parts[4...5]), parts.count == 6 || parts.count == 8
      else { return nil }
      let second = parts.count == 8 ? CrashPlace.moment(parts[6...7]) : nil
      if parts.count == 8, second == nil { return nil }
      event = .crash(first, second: second, verification)
    case "fault", "cow-fault":
      let words = parts[3...].joined(separator: ":").split(separator: "+", omittingEmptySubsequences: false)
      let misfortunes = words.compactMap { word in
        Misfortune(words: word.split(separator: ":", omittingEmptySubsequences: false).map(String.init))
      }
      guard misfortunes.count == words.count, misfortunes.count <= 2 else { return nil }
      event = .fault(misfortunes, promisesAllocation: parts[2] == "fault")
    default:
      return nil
    }
  }

  private static let verifications: [(word: String, mode: Verification)] = [
    ("first-read", .firstRead), ("always", .always), ("never", .never),
  ]

  private static let death = "death"

  private static func moment(_ parts: ArraySlice<String>) -> Moment? {
    guard let first = parts.first, let last = parts.last, let count = Int(first), count >= 0 else { return nil }
    let policy = CrashPolicy(word: last)
    return policy == nil && last != death ? nil : Moment(operationCount: count, policy: policy)
  }

  var description: String {
    switch event {
    case .crash(let first, let second, let verification):
      let word = CrashPlace.verifications.first { $0.mode == verification }?.word ?? "first-read"
      let moments = [first] + (second.map { [$0] } ?? [])
      return "\(workload):\(round):crash:\(word)"
        + moments.map { ":\($0.operationCount):\($0.policy?.word ?? CrashPlace.death)" }.joined()
    case .fault(let misfortunes, let promisesAllocation):
      return "\(workload):\(round):\(promisesAllocation ? "fault" : "cow-fault"):"
        + misfortunes.map(\.description).joined(separator: "+")
    }
  }
}
