import Glibc
import Vitrine
import VitrineSimulation

/// One store through many rounds: its writer is killed at any moment of its work, and so is each process that
/// recovers it. Then every acknowledged change must be found.
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
    /// With budgets beyond any disk.
    var largeRounds = 0
    /// Evicted entries of all rounds. Some evictions before a kill are not counted.
    var evicted = 0

    var text: String {
      """
      \(rounds) rounds, \(evictingRounds) of them with eviction (\(evicted) entries), \(largeRounds) with huge budgets
      \(acknowledged) changes acknowledged, \(cutOff) cut off
      \(kills) kills, \(killsWhileOpening) while opening, \(killsWhileClosing) while closing, \(deathsAtCalls) at a call
      """
    }
  }

  /// Several times the live values; the smaller one leaves no room for dead records.
  private static let roomyBudgets = [64 << 20, 24 << 20]

  private let store: String
  private let seed: UInt64
  /// The longest time for which a writer works before it is killed.
  private let milliseconds: Int
  private var random: SplitMix64
  private var history = KillHistory()
  private var life = 0
  /// The duration of a recent opening, to kill within it.
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
    var budget = evicts ? (3 + random.next(below: 4)) << 20 : KillRun.roomyBudgets[random.next(below: 2)]
    // Not the first one, which the log's size comes from.
    if !evicts, life > 0, random.next(below: 4) == 0 {
      budget = [Int.max, StoreOptions.largestByteBudget, 1 << 50][random.next(below: 3)]
      results.largeRounds += 1
    }
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

  /// Runs a writer from its start to its death.
  private mutating func live(_ plan: inout KillWriter.Plan, until moment: KillMoment) throws {
    life += 1
    plan.life = life
    plan.death = if case .itself(let death) = moment { death } else { nil }
    guard let child = KillChild(plan) else { throw KillViolation("no process can be started") }
    var phase = Phase.starting
    var acknowledged = 0
    var wrong: String?
    var began: UInt64 = 0
    // Far longer than any writer takes: a hanging writer has broken its promise.
    var deadline = monotonicNanoseconds() + 120_000_000_000
    var isDue = false

    /// Kills it this long from now.
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
        // Without operations, a store may not reach that call.
        case .itself where plan.operations == 0: die(in: 20_000)
        case .working(let microseconds): die(in: microseconds)
        // The deadly call may not come.
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

    // Shortly before its death its messages are not read: they stay in the pipe.
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
