import Foundation
import FoundationXML
import Testing
import Vitrine
import VitrineSimulation

@testable import CacheCtlTool

/// `cachectl replay` as a program.
@Suite struct ReplayCommandTests {
  private let tool: Tool
  private static let tiny = "# tiny\n1 100\n2 5000\n1 100\n1 200\n18446744073709551615 1\n2 5000\n"

  init() throws {
    tool = try Tool()
    try tool.write(Data(Self.tiny.utf8), to: "tiny")
  }

  /// The names in the test's folder, except those of the files that the test made.
  private func leftovers(besides known: Set<String>) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: tool.folder.path)
      .filter { !known.contains($0) && !$0.hasPrefix(".") }
  }

  @Test func jsonHasTheNamesThatHelpListsAndExactCounts() throws {
    let outcome = try tool.run("replay", "tiny", "--budget", "1MiB", "--json", "--store", "s")
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
    let json = try #require(outcome.json)
    let names = [
      "trace", "seed", "distinct_objects", "distinct_bytes", "policy", "budget_bytes", "budget_share", "rate",
      "requests", "misses", "miss_ratio", "byte_miss_ratio", "write_amplification", "write_amplification_engine",
      "write_amplification_source", "bytes_written", "bytes_cancelled", "puts", "bytes_put", "too_large",
      "bytes_on_disk_max", "bytes_live", "bytes_live_end", "was_full", "evictions", "mismatches", "damaged", "seconds",
      "puts_per_second", "put_p50", "put_p999", "put_max", "get_p50", "get_p999", "get_max",
    ]
    #expect(Set(json.keys) == Set(names))
    let notes = try #require(ReplayCommand.specification.notes.last)
    for name in names { #expect(notes.contains(name), "\(name)") }
    #expect(json["requests"] as? Int == 6 && json["misses"] as? Int == 4 && json["puts"] as? Int == 4)
    #expect(json["bytes_put"] as? Int == 5301 && json["bytes_live_end"] as? Int == 5201)
    #expect(json["miss_ratio"] as? Double == 0.666667 && json["byte_miss_ratio"] as? Double == 0.509663)
    #expect(json["policy"] as? String == "s3fifo" && json["budget_share"] is NSNull)
    #expect(try leftovers(besides: ["tiny"]).isEmpty)
  }

  @Test func shareOfTheDistinctBytesIsTheBudgetOfTheFolder() throws {
    let requests = TraceSamples.skewed(4000, objects: 1500, seed: 2, largest: 12_000)
    try tool.write(try TraceSamples.gzip(TraceSamples.oracle(requests)), to: "trace")
    let outcome = try tool.run("replay", "trace", "--budget-share", "0.25", "--policy", "fifo", "--json")
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
    let json = try #require(outcome.json)
    let distinct = Dictionary(requests.map { ($0.object, $0.byteCount) }, uniquingKeysWith: { first, _ in first })
    let byteCount = distinct.values.reduce(0, +)
    #expect(json["distinct_objects"] as? Int == distinct.count && json["distinct_bytes"] as? Int == byteCount)
    #expect(json["budget_bytes"] as? Int == byteCount / 4 && json["policy"] as? String == "fifo")
    let most = try #require(json["bytes_on_disk_max"] as? Int)
    #expect(most <= byteCount / 4 && most > byteCount / 8)
    #expect(json["was_full"] as? Bool == true)
  }

  @Test func keptStoreHasTheObjectsUnderTheirIds() throws {
    #expect(try tool.run("replay", "tiny", "--budget", "1MiB", "--store", "s", "--keep", "--seed", "5").status == 0)
    let value = try tool.run("get", "s", "18446744073709551615")
    let expected = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 8)
    defer { expected.deallocate() }
    TracePayload(seed: 5).fill(expected, object: 1)
    #expect(value.output.count == 1)
    #expect(try tool.run("get", "s", "1").output == Data(expected))
    #expect(try tool.run("verify", "s").status == 0)
    // A store that exists is neither used nor removed.
    #expect(try tool.run("replay", "tiny", "--budget", "1MiB", "--store", "s").status == 3)
    #expect(try tool.run("get", "s", "1").output == Data(expected))
  }

  @Test func comparisonHasEveryPolicyAndBudgetAndLeavesNothing() throws {
    try tool.write(TraceSamples.text(TraceSamples.skewed(3000, objects: 1500, seed: 2, largest: 12_000)), to: "t<&>\"")
    let outcome = try tool.run(
      "replay", "t<&>\"", "--compare", "--budget-share", "0.2,0.5", "--svg", "plot.svg", "--json", "--store", "s")
    #expect(outcome.status == 0, "\(outcome.diagnostics)")
    let json = try #require(outcome.json)
    let runs = try #require(json["runs"] as? [[String: Any]])
    let policies = EvictionPolicy.allCases.map(\.name)
    #expect(runs.map { $0["policy"] as? String } == policies + policies)
    #expect(runs.map { $0["budget_share"] as? Double } == policies.map { _ in 0.2 } + policies.map { _ in 0.5 })
    let simulations = try #require(json["simulations"] as? [[String: Any]])
    #expect(simulations.count == 2 * 4 * (policies.count + 1))
    #expect(Set(simulations.compactMap { $0["capacity"] as? String }) == ["live", "budget"])
    #expect(simulations.allSatisfy { $0["requests"] as? Int == 3000 })
    #expect(try leftovers(besides: ["tiny", "t<&>\"", "plot.svg"]).isEmpty)

    let parser = XMLParser(data: try #require(tool.read("plot.svg")))
    let picture = Picture()
    parser.delegate = picture
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    // A line and two marks for each policy and its simulation.
    #expect(picture.names.first == "svg")
    #expect(picture.names.filter { $0 == "polyline" }.count == policies.count + 4)
    #expect(picture.names.filter { $0 == "circle" }.count == 2 * (policies.count + 4))
    #expect(picture.text.contains("t<&>\": miss ratio by budget"))
  }

  private final class Picture: NSObject, XMLParserDelegate {
    var names: [String] = []
    var text = ""

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      names.append(name)
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
  }

  @Test func reportForPeopleNamesPoliciesAndSimulations() throws {
    let single = try tool.run("replay", "tiny", "--budget", "1MiB")
    #expect(single.status == 0 && single.text.contains("66.67 % of the requests, 50.97 % of the bytes"))
    let compared = try tool.run("replay", "tiny", "--budget", "1MiB", "--compare").text
    for name in EvictionPolicy.allCases.map(\.name) + CacheSimulations.all.map({ $0.name }) {
      #expect(compared.contains("  \(name)"), "\(name)")
    }
  }

  @Test(arguments: [
    ["tiny"], ["tiny", "--budget", "1MiB", "--budget-share", "0.1"], ["tiny", "--budget", "1000"],
    ["tiny", "--budget-share", "0"], ["tiny", "--budget-share", "x"], ["tiny", "--budget-share", "0.1,0.2"],
    ["tiny", "--budget-share", "0.1"], ["tiny", "--budget", "1MiB", "--policy", "lru", "--compare"],
    ["tiny", "--budget", "1MiB", "--policy", "mru"], ["tiny", "--budget", "1MiB", "--format", "csv"],
    ["tiny", "--budget", "1MiB", "--seed", "x"], ["tiny", "--budget", "1MiB", "--store="],
  ])
  func wrongUsageIsStatusTwoAndMakesNoStore(_ words: [String]) throws {
    let outcome = try tool.run(["replay"] + words)
    #expect(outcome.status == 2 && outcome.output.isEmpty)
    #expect(outcome.diagnostics.hasSuffix("Try 'cachectl help replay'.\n"), "\(outcome.diagnostics)")
    #expect(try leftovers(besides: ["tiny"]).isEmpty)
  }

  @Test func traceThatCannotBeReadIsStatusThreeAndLeavesNoStore() throws {
    try tool.write(Data("1 10\n2 ten\n".utf8), to: "bad")
    try tool.write(Data(), to: "empty")
    for (name, message) in [
      ("bad", "bad, line 2: the size is not a decimal number"), ("empty", "empty: the trace has no request"),
      ("none", "open none: No such file or directory"),
    ] {
      for budget in [["--budget", "1MiB"], ["--budget-share", "0.5"]] {
        let outcome = try tool.run(["replay", name] + budget)
        #expect(outcome.status == 3 && outcome.output.isEmpty)
        #expect(outcome.diagnostics == "cachectl replay: \(message)\n")
      }
    }
    #expect(try leftovers(besides: ["tiny", "bad", "empty"]).isEmpty)
  }

  @Test func interruptedReplayRemovesItsStore() throws {
    // More requests than any machine replays before the signal arrives.
    try tool.write(TraceSamples.text(TraceSamples.skewed(2_000_000, objects: 50, seed: 1)), to: "long")
    let outcome = try tool.runSignalled(["replay", "long", "--budget", "2MiB", "--store", "s"], SIGINT, store: "s")
    #expect(outcome.status == 3 && outcome.output.isEmpty)
    #expect(try leftovers(besides: ["tiny", "long"]).isEmpty)
  }
}
