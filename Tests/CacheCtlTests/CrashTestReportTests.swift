import CacheCtlKit
import Foundation
import Testing
import Vitrine

@testable import CacheCtlTool
@testable import VitrineSimulation

/// The report of a state with a broken promise.
@Suite struct CrashTestReportTests {
  /// Puts an entry that the history does not have.
  private static let liar = CrashWorkload("liar") { store, _ in
    try store.put("told", RecordedStore.bytes(700, 1), synced: true)
    try store.store.put(RecordedStore.bytes(90, 2), for: "untold", options: PutOptions(durability: .synced))
  }

  @Test func aViolationHasItsStoryAndTheCommandThatRepeatsIt() throws {
    let explorer = CrashExplorer(workloads: [Self.liar], seed: 3, states: 300, faults: 0)
    let report = explorer.run()
    let violation = try #require(report.violations.first)
    #expect(
      violation.place.hasPrefix("liar:") && violation.place.contains(":crash:") && violation.text.contains("untold"))
    #expect(violation.story.contains { $0.contains("put 700 bytes as told") })
    #expect(violation.story.contains { $0.hasPrefix("disk: ") })

    let again = "cachectl crashtest --seed 3 --repeat '\(violation.place)'"
    let text = CrashReportText.text(report)
    #expect(
      text.contains("seed 3,") && text.contains("VIOLATION: \(violation.text)\n") && text.contains("again: \(again)\n"))
    for line in violation.story { #expect(text.contains("  \(line)\n")) }
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(CrashReportText.json(report).line.utf8)) as? [String: Any])
    #expect(json["violations"] as? Int == report.violations.count && json["seed"] as? Int == 3)
    let found = try #require((json["found"] as? [[String: Any]])?.first)
    #expect(found["again"] as? String == again && found["text"] as? String == violation.text)
    #expect(found["story"] as? [String] == violation.story)

    let repeated = try #require(try explorer.repeat(violation.place))
    #expect(violation.text.hasSuffix(repeated.text), "\(repeated.text)")
    #expect(CrashReportText.text(repeated, seed: 3).hasPrefix("VIOLATION: "))
  }

  @Test func violationOrShortfallSetsTheExitStatus() throws {
    let bad = CrashExplorer(workloads: [Self.liar], seed: 3, states: 300, faults: 0).run()
    #expect(CrashTestCommand.status(bad, isRequired: false) == .problemFound)
    let honest = CrashWorkload("honest") { store, _ in
      try store.put("told", RecordedStore.bytes(700, 1), synced: true)
    }
    var good = CrashExplorer(workloads: [honest], seed: 3, states: 20, faults: 0).run()
    #expect(good.shortfalls == [] && CrashTestCommand.status(good, isRequired: true) == .done)
    good.statesWanted = 1 << 20
    #expect(!good.shortfalls.isEmpty && CrashTestCommand.status(good, isRequired: true) == .problemFound)
    #expect(CrashTestCommand.status(good, isRequired: false) == .done)
    // One state of each workload is enough for `some`.
    #expect(good.untouched == [] && CrashTestCommand.status(good, isRequired: false, areSomeRequired: true) == .done)
    good.faultsWanted = 1
    #expect(good.untouched == ["honest: no fault"])
    #expect(CrashTestCommand.status(good, isRequired: false, areSomeRequired: true) == .problemFound)
    good.workloads[0].hasOwnFaults = true
    good.workloads[0].states = 0
    #expect(good.untouched == ["honest: no state"])
    #expect(CrashReportText.text(good).contains("untouched         honest: no state\n"))
  }
}
