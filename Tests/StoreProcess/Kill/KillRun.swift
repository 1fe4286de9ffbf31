import Glibc
import Vitrine
import VitrineSimulation

/// One store through many rounds: its writer is killed, at any moment of its work, and whoever recovers it again and
/// again; then all that was acknowledged is looked for.
struct KillRun {
  struct Results {
    var rounds = 0
    var acknowledged = 0
    var cutOff = 0
    var kills = 0
    var killsWhileOpening = 0
    var killsWhileClosing = 0
    /// At a chosen call of the file system.
    var deathsAtCalls = 0
    var evictingRounds = 0
    /// Entries, over all rounds, but for what deaths left uncounted.
    var evicted = 0

    var text: String {
      """
      \(rounds) rounds, \(evictingRounds) of them with eviction (\(evicted) entries)
      \(acknowledged) changes acknowledged, \(cutOff) cut off
      \(kills) kills, \(killsWhileOpening) while opening, \(killsWhileClosing) while closing, \(deathsAtCalls) at a call
      """
    }
  }

  /// For all that lives, and several times as much; the smaller one leaves no room for what is dead.
  private static let roomyBudgets = [64 << 20, 24 << 20]

  private let store: String
  private let seed: UInt64
  /// For which a writer works at most before it is killed.
  private let milliseconds: Int
  private var random: SplitMix64
  private var history = KillHistory()
  private var life = 0
  /// What an opening took lately, to kill in it.
  private var openingMicroseconds = 3000
  private(set) var results = Results()

  init(store: String, seed: UInt64, milliseconds: Int) {
    self.store = store
    self.seed = seed
    self.milliseconds = milliseconds
    random = SplitMix64(seed: seed)
  }

  mutating func round() throws {
    let evicts = results.rounds % 4 == 2
    let budget = evicts ? (3 + random.next(below: 4)) << 20 : KillRun.roomyBudgets[random.next(below: 2)]
    let removesAll = results.rounds % 5 == 1
    var plan = KillWriter.Plan(
      store: store, seed: seed, life: 0, byteBudget: budget, operations: 0, removesAll: removesAll, evicts: evicts)
    for _ in 0..<[1, 1, 1, 1, 2, 2, 3][random.next(below: 7)] {
      let moment = KillMoment(&random)
      plan.operations = if case .closing = moment { 20 + random.next(below: 200) } else { 1_000_000 }
      try live(&plan, until: moment)
    }
    plan.operations = 0
    for _ in 0..<[0, 0, 0, 1, 2, 4][random.next(below: 6)] {
      let longest = openingMicroseconds * 3 / 2 + 1000
      let isItself = random.next(below: 3) == 0
      try live(
        &plan,
        until: isItself
          ? .itself(&random, isOpening: true) : .opening(microseconds: random.next(below: longest)))
    }
    var inspection = KillInspection(
      plan: plan, history: history, readsFirst: random.next(below: 3) == 0, closes: random.next(below: 2) == 0)
    let found = try inspection.run()
    history.settle(found.values)
    results.evicted = found.evictedCount
    results.rounds += 1
    results.evictingRounds += evicts ? 1 : 0
  }

  // MARK: One writer

  private enum Phase { case starting, opening, open, closing, closed }

  /// A writer from its start to its death.
  private mutating func live(_ plan: inout KillWriter.Plan, until moment: KillMoment) throws {
    life += 1
    plan.life = life
    plan.death = if case .itself(let death) = moment { death } else { nil }
    guard let child = KillChild(plan) else { throw KillViolation("no process can be started") }
    var phase = Phase.starting
    var acknowledged = 0
    var wrong: String?
    var began: UInt64 = 0
    // Long beyond what any writer takes: one that hangs is one that broke its promise.
    var deadline = monotonicNanoseconds() + 120_000_000_000
    var isDue = false

    /// Death, so long from now.
    func die(in microseconds: Int) {
      deadline = monotonicNanoseconds() + UInt64(microseconds) * 1000
      isDue = true
    }

    func hear(_ message: KillMessage) {
      switch message {
      case .opening:
        phase = .opening
        began = monotonicNanoseconds()
        if case .opening(let microseconds) = moment { die(in: microseconds) }
      case .opened:
        phase = .open
        openingMicroseconds = Int((monotonicNanoseconds() - began) / 1000)
        switch moment {
        case .opening: break
        // A store that was opened for nothing may not come to that call.
        case .itself where plan.operations == 0: die(in: 20_000)
        case .working(let microseconds): die(in: microseconds)
        // What it is to die of may not come.
        default: deadline = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
        }
      case .begin(let thread, let kind, let effects):
        history.begin(kind, thread: thread, effects)
        if !isDue, case .begun(kind, let count, let microseconds) = moment, acknowledged >= count {
          die(in: microseconds)
        }
      case .done(let thread):
        history.acknowledge(thread: thread)
        acknowledged += 1
        if !isDue, case .acknowledged(acknowledged) = moment { die(in: 0) }
      case .nothing(let thread): history.forget(thread: thread)
      case .closing:
        phase = .closing
        if case .closing(let microseconds) = moment { die(in: microseconds) }
      case .closed: phase = .closed
      case .wrong(let text): wrong = wrong ?? text
      }
    }

    // Near its death it is not listened to: what it says stays in the pipe.
    while wrong == nil, !isDue || deadline > monotonicNanoseconds() + 2_000_000 {
      guard let message = child.next(until: isDue ? deadline - 1_000_000 : deadline) else { break }
      hear(message)
    }
    let now = monotonicNanoseconds()
    if isDue, deadline > now { usleep(UInt32((deadline - now) / 1000)) }
    if plan.death != nil, now < deadline { results.deathsAtCalls += 1 }
    child.kill()
    while let message = child.next(until: .max) { hear(message) }
    let status = child.end()
    results.cutOff += history.died()
    if let wrong { throw KillViolation(wrong) }
    let hasGone = status == -SIGKILL || phase == .closed && status == 0
    if !hasGone { throw KillViolation("a writer ended by itself, with \(status), while \(phase)") }
    if phase == .starting, !isDue { throw KillViolation("a writer said nothing for two minutes") }
    results.acknowledged += acknowledged
    if status == 0 { return }
    results.kills += 1
    if phase == .opening { results.killsWhileOpening += 1 }
    if phase == .closing { results.killsWhileClosing += 1 }
  }
}
