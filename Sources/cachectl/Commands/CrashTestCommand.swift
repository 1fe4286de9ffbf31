import CacheCtlKit
import Glibc
import Vitrine
import VitrineSimulation

enum CrashTestCommand: Command {
  private static let seed = Option("seed", value: "N", "repeat the run that printed this seed")
  private static let states = Option("states", value: "N", "distinct states to inspect (20,000)")
  private static let faults = Option("faults", value: "N", "faults of the disk to inject (a tenth of the states)")
  private static let workload = Option("workload", value: "NAME", "run only this workload, of the list below")
  private static let time = Option("time", value: "SECONDS", "stop after this time, even if unfinished")
  private static let required = Option("require", "fail if required states, faults or calls are not reached")
  private static let some = Option("require-some", "go on until each workload has a state and a fault")
  private static let threads = Option("threads", value: "N", "number of threads (one for each processor)")
  private static let place = Option("repeat", value: "PLACE", "inspect a violation's place again; needs its --seed")

  static let specification = CommandSpecification(
    name: "crashtest", summary: "interrupt a store everywhere, and check its state", positionals: [],
    options: [seed, states, faults, workload, time, required, some, threads, place, .json],
    notes: [
      "Runs workloads on a simulated disk, in memory: no store of yours is touched. After each operation of the disk "
        + "the power is lost, in all the ways that may leave different states. In each state the store is opened, and "
        + "its content is compared with its promises. Some recoveries are interrupted too. Then the workloads run "
        + "again with single faults and pairs: calls that fail or lie, a disk that another program fills, a folder "
        + "that is moved away, a clock that steps, damage of the closed store.",
      "Two states are distinct if different sets of writes have reached the disk, even with equal bytes. A state is "
        + "inspected again if the store had promised more. The exit status is 1 if a promise was broken. Then a story "
        + "and the command that repeats it are printed, also if the store traps, or does nothing for two minutes. "
        + "Numbers not reached are listed at the end.",
      "Workloads: \(CrashWorkload.all.map { "\($0.name) (\($0.summary))" }.joined(separator: "; ")).",
      "In each workload's first round, power is lost at every moment in all ways, and every call to the disk fails, "
        + "first in one way, then in the others, up to the workload's share of states and faults. The table shows the "
        + "numbers of crash points, failed calls and failure modes, each of its total.",
      "With --json: seed, seconds, states_distinct, looks, double_crashes, recoveries, recoveries_left_out, faults, "
        + "fault_pairs, calls, calls_struck, moments, moments_cut, ways, ways_tried, rounds_left_out, "
        + "not_reached and untouched (lists of lines), violations (a number), found (a list of place, "
        + "again, text, story), workloads, call_sites, faults_by_kind.",
    ],
    examples: [
      .init("cachectl crashtest", "run for a minute, with a new seed"),
      .init("cachectl crashtest --states 200000 --time 900", "a quarter of an hour"),
      .init("cachectl crashtest --workload compaction --seed 7", "repeat one workload"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    var explorer = CrashExplorer(seed: UInt64(try arguments.count(seed) ?? Int.random(in: 1...999_999_999)))
    if let name = arguments.value(workload).map({ String(decoding: $0, as: UTF8.self) }) {
      guard let found = CrashWorkload.all.first(where: { $0.name == name }) else {
        let names = CrashWorkload.all.map(\.name).joined(separator: ", ")
        throw arguments.fail("no workload '\(printable(Array(name.utf8)))': there are \(names)")
      }
      explorer.workloads = [found]
    }
    if let word = arguments.value(place) {
      guard arguments.value(seed) != nil else { throw arguments.fail("--repeat needs the --seed that was printed") }
      return try look(explorer, String(decoding: word, as: UTF8.self), output)
    }
    explorer.states = try arguments.count(states) ?? explorer.states
    explorer.faults = try arguments.count(faults) ?? explorer.states / 10
    explorer.seconds = try arguments.count(time).map(Double.init)
    explorer.touchesAll = arguments.has(some)
    explorer.threads = try arguments.count(threads) ?? max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    Interruption.listen()
    // Printed first: a trap leaves no time for it.
    Diagnostics.write("cachectl crashtest: seed \(explorer.seed)\n")
    let watch = try LookWatch(threads: explorer.threads, seed: explorer.seed)
    let line = ProgressLine()
    let report = explorer.run(
      progress: { report in
        line.show(report)
        return !Interruption.isWanted
      },
      watch: { thread, place in watch.enter(place, thread) })
    line.clear()
    try output.write(arguments.has(.json) ? CrashReportText.json(report).line : CrashReportText.text(report))
    return status(report, isRequired: arguments.has(required), areSomeRequired: arguments.has(some))
  }

  static func status(_ report: CrashReport, isRequired: Bool, areSomeRequired: Bool = false) -> ExitStatus {
    let isReached = (!isRequired || report.shortfalls.isEmpty) && (!areSomeRequired || report.untouched.isEmpty)
    return report.violations.isEmpty && isReached ? .done : .problemFound
  }

  private static func look(_ explorer: CrashExplorer, _ place: String, _ output: Output) throws -> ExitStatus {
    guard let violation = try explorer.repeat(place) else {
      try output.write("nothing is wrong there\n")
      return .done
    }
    try output.write(CrashReportText.text(violation, seed: explorer.seed))
    return .problemFound
  }
}

/// Progress, reported by one thread at a time.
///
/// Invariant: the explorer never calls `show` twice at once, and `clear` comes after its last call.
private final class ProgressLine: @unchecked Sendable {
  private let progress = Progress("crashtest")

  func show(_ report: CrashReport) {
    let found = report.violations.isEmpty ? "" : ", \(Quantity.count(report.violations.count)) VIOLATIONS"
    let (wanted, isEndless) = report.statesWanted.addingReportingOverflow(report.faultsWanted)
    let done = report.states + report.faults
    progress.show(
      (isEndless ? "" : "\(Quantity.percent(min(done, wanted), of: max(wanted, 1))), ")
        + "\(Quantity.count(report.states)) states, "
        + "\(Quantity.count(report.faults)) faults\(found)")
  }

  func clear() { progress.clear() }
}
