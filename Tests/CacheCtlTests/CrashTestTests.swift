import Foundation
import Testing

/// `cachectl crashtest`.
@Suite struct CrashTestTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  @Test func jsonReportHasTheNamesThatScriptsRelyOn() throws {
    let outcome = try tool.run("crashtest", "--seed", "5", "--states", "32", "--faults", "8", "--json")
    #expect(outcome.status == 0)
    let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.text.utf8)) as? [String: Any])
    #expect(report["seed"] as? Int == 5)
    #expect(report["violations"] as? Int == 0, "\((report["found"] as? [[String: Any]] ?? []).map(\.description))")
    #expect(report["states_distinct"] as? Int ?? 0 >= 32 && report["faults"] as? Int ?? 0 >= 8)
    for name in [
      "seconds", "double_crashes", "recoveries", "recoveries_left_out", "looks", "fault_pairs", "calls", "calls_struck",
      "moments", "moments_cut", "ways", "ways_tried", "rounds_left_out", "untouched", "not_reached", "found",
      "workloads", "call_sites",
      "faults_by_kind",
    ] {
      #expect(report[name] != nil, "\(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).allSatisfy { $0.hasPrefix(".") })
  }

  @Test func unreachedRequirementFails() throws {
    let words = ["crashtest", "--seed", "5", "--states", "90000", "--faults", "90000", "--time", "1"]
    let partial = try tool.run(words)
    #expect(partial.status == 0 && partial.text.contains("not reached") && partial.text.contains(" states of 90000"))
    let whole = try tool.run(words + ["--require"])
    #expect(whole.status == 1 && whole.text.contains("violations        0"))
  }

  @Test func reportForPeopleListsTheResults() throws {
    let outcome = try tool.run("crashtest", "--seed", "5", "--states", "20", "--faults", "4", "--workload", "puts")
    #expect(outcome.status == 0)
    for words in ["seed 5", "puts", "distinct states", "double crashes", "faults injected", "violations        0"] {
      #expect(outcome.text.contains(words), "\(words)")
    }
  }

  @Test(arguments: [
    ["--workload", "nothing"], ["--seed", "x"], ["--states", "-1"], ["--repeat", "puts:0:crash:always:3:lost"],
    ["store"],
  ])
  func meaninglessOptionsAreUsageErrors(_ words: [String]) throws {
    #expect(try tool.run(["crashtest"] + words).status == 2)
  }

  @Test func placeIsInspectedAgain() throws {
    let place = "puts:0:crash:always:60:lost"
    let outcome = try tool.run("crashtest", "--seed", "5", "--repeat", place)
    #expect(outcome.status == 0 && outcome.text.contains("nothing is wrong there"))
    #expect(try tool.run("crashtest", "--seed", "5", "--repeat", "puts:0").status != 0)
  }
}
