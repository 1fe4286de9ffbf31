import CacheCtlKit
import VitrineSimulation

/// The results of an exploration, for people and for programs.
enum CrashReportText {
  static func text(_ report: CrashReport) -> String {
    var text = "seed \(report.seed), \(Quantity.duration(seconds: Int(report.seconds.rounded())))\n\n"
    var table = Table([.left] + [Table.Alignment](repeating: .right, count: 10))
    table.add([
      "workload", "rounds", "states", "inspections", "crash points", "of", "faults", "failed calls", "of",
      "failure modes", "of",
    ])
    func add(_ name: String, _ counts: Int...) { table.add([name] + counts.map(Quantity.count)) }
    for workload in report.workloads {
      add(
        workload.name, workload.rounds, workload.states, workload.looks, workload.momentsCut, workload.moments,
        workload.faults, workload.callsStruck, workload.calls, workload.waysTried, workload.ways)
    }
    add(
      "together", report.workloads.reduce(0) { $0 + $1.rounds }, report.states, report.looks, report.momentsCut,
      report.moments, report.faults, report.callsStruck, report.calls, report.waysTried, report.ways)
    text += table.text(indentation: "  ")
    var sites = Table([.left, .left, .left, .right, .right])
    sites.add(["cut off at", "", "", "before", "behind"])
    for site in report.callSites {
      sites.add([site.source, site.operation, site.file, Quantity.count(site.cutBefore), Quantity.count(site.cutAfter)])
    }
    text += "\n" + sites.text(indentation: "  ")
    var kinds = Table([.left, .right])
    kinds.add(["fault", "times"])
    for (kind, count) in report.faultsByKind.sorted(by: { $0.key < $1.key }) {
      kinds.add([kind, Quantity.count(count)])
    }
    kinds.add(["two in one run", Quantity.count(report.faultPairs)])
    text += "\n" + kinds.text(indentation: "  ") + "\n"
    text += "distinct states   \(Quantity.count(report.states))\n"
    text += "inspections       \(Quantity.count(report.looks)) (distinct image and contract)\n"
    text += "double crashes    \(Quantity.count(report.doubleCrashes))\n"
    text += "recoveries        \(Quantity.count(report.recoveries)) interrupted, at each operation; "
    text += "\(Quantity.count(report.recoveriesLeftOut)) skipped\n"
    text += "faults injected   \(Quantity.count(report.faults))\n"
    if report.roundsLeftOut > 0 {
      text += "rounds left out   \(Quantity.count(report.roundsLeftOut)), with threads in an unknown order\n"
    }
    text += "violations        \(Quantity.count(report.violations.count))\n"
    for line in report.untouched { text += "untouched         \(line)\n" }
    for line in report.shortfalls { text += "not reached       \(line)\n" }
    for violation in report.violations { text += "\n" + self.text(violation, seed: report.seed) }
    return text
  }

  static func text(_ violation: CrashViolation, seed: UInt64) -> String {
    var text = "VIOLATION: \(violation.text)\n"
    for line in violation.story { text += "  \(line)\n" }
    return text + "  again: \(again(violation.place, seed: seed))\n"
  }

  /// The command that inspects a place again.
  static func again(_ place: String, seed: UInt64) -> String {
    "cachectl crashtest --seed \(seed) --repeat '\(place)'"
  }

  static func json(_ report: CrashReport) -> JSON {
    .object([
      ("seed", .int(Int(clamping: report.seed))), ("seconds", .rounded(report.seconds, places: 1)),
      ("states_distinct", .int(report.states)), ("looks", .int(report.looks)),
      ("double_crashes", .int(report.doubleCrashes)),
      ("recoveries", .int(report.recoveries)), ("recoveries_left_out", .int(report.recoveriesLeftOut)),
      ("faults", .int(report.faults)), ("fault_pairs", .int(report.faultPairs)),
      ("calls", .int(report.calls)), ("calls_struck", .int(report.callsStruck)),
      ("moments", .int(report.moments)), ("moments_cut", .int(report.momentsCut)),
      ("ways", .int(report.ways)), ("ways_tried", .int(report.waysTried)),
      ("rounds_left_out", .int(report.roundsLeftOut)),
      ("untouched", .array(report.untouched.map { .string($0) })),
      ("not_reached", .array(report.shortfalls.map { .string($0) })),
      ("violations", .int(report.violations.count)),
      (
        "found",
        .array(
          report.violations.map {
            .object([
              ("place", .string($0.place)), ("again", .string(again($0.place, seed: report.seed))),
              ("text", .string($0.text)), ("story", .array($0.story.map { .string($0) })),
            ])
          })
      ),
      (
        "workloads",
        .array(
          report.workloads.map {
            .object([
              ("name", .string($0.name)), ("rounds", .int($0.rounds)), ("states", .int($0.states)),
              ("looks", .int($0.looks)), ("faults", .int($0.faults)), ("calls", .int($0.calls)),
              ("calls_struck", .int($0.callsStruck)), ("moments", .int($0.moments)),
              ("moments_cut", .int($0.momentsCut)), ("ways", .int($0.ways)), ("ways_tried", .int($0.waysTried)),
            ])
          })
      ),
      (
        "faults_by_kind",
        .object(report.faultsByKind.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) })
      ),
      (
        "call_sites",
        .array(
          report.callSites.map {
            .object([
              ("source", .string($0.source)), ("file", .string($0.file)), ("operation", .string($0.operation)),
              ("before", .int($0.cutBefore)),
              ("behind", .int($0.cutAfter)),
            ])
          })
      ),
    ])
  }
}
