import Foundation
import Testing

/// `cachectl crashtest`.
@Suite struct CrashTestTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  @Test func aRunHasTheNamesThatScriptsRelyOn() throws {
    let outcome = try tool.run("crashtest", "--seed", "5", "--states", "32", "--faults", "8", "--json")
    #expect(outcome.status == 0)
    let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.text.utf8)) as? [String: Any])
    #expect(report["seed"] as? Int == 5)
    #expect(report["violations"] as? Int == 0, "\((report["found"] as? [[String: Any]] ?? []).map(\.description))")
    #expect(report["states_distinct"] as? Int ?? 0 >= 32 && report["faults"] as? Int ?? 0 >= 8)
    for name in ["seconds", "double_crashes", "found", "workloads", "call_sites"] {
      #expect(report[name] != nil, "\(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).allSatisfy { $0.hasPrefix(".") })
  }

  @Test func aReportForPeopleSaysWhatWasDone() throws {
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
  func whatCannotBeMeantIsAUsageError(_ words: [String]) throws {
    #expect(try tool.run(["crashtest"] + words).status == 2)
  }

  @Test func aPlaceIsLookedAtAgain() throws {
    let place = "puts:0:crash:always:60:lost"
    let outcome = try tool.run("crashtest", "--seed", "5", "--repeat", place)
    #expect(outcome.status == 0 && outcome.text.contains("nothing is wrong there"))
    #expect(try tool.run("crashtest", "--seed", "5", "--repeat", "puts:0").status != 0)
  }
}
