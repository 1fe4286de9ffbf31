import CacheCtlBase
import CacheCtlKit
import Foundation
import Testing

@testable import CacheCtlTool
@testable import Vitrine

/// The miss-ratio curve in the output of the tool.
@Suite struct MissCurveTests {
  private func record() -> MissCurveRecord {
    var record = MissCurveRecord()
    record.requestCount = 1_234_567
    record.missCount = 400_000
    record.byteBudget = 64_000_000
    record.valueByteCount = 4000
    record.missesPerMillion = [1_000_000, 812_300, 500_000, 333_333, 200_000, 100_000, 0]
    return record
  }

  @Test func plotHasABarForEachBudget() throws {
    let curve = try #require(record().curve)
    let text = MissCurvePlot(curve: curve, policy: .s3fifo, symbols: .ascii).text
    let lines = text.split(separator: "\n")
    #expect(lines.count == 10 && lines.allSatisfy { $0.count <= 80 })
    let full = String(repeating: "#", count: 40)
    let half = String(repeating: "#", count: 20) + String(repeating: ".", count: 20)
    #expect(lines[1].hasPrefix("  8.0 MB ") && lines[1].contains("1/8") && lines[1].hasSuffix("100.0 %  \(full)"))
    #expect(lines[3].contains("1/2") && lines[3].hasSuffix("50.0 %  \(half)"))
    #expect(lines[4].hasPrefix("  64.0 MB ") && lines[4].contains("now") && lines[4].contains(" 33.3 %"))
    #expect(lines[7].hasPrefix("  512.0 MB ") && lines[7].contains("x 8") && !lines[7].contains("#"))
    #expect(lines[8].hasPrefix("  measured ") && lines[8].contains("s3fifo") && lines[8].contains(" 32.4 %"))
    #expect(lines[9] == "  under lru, estimated from a sample of 1,234,567 requests")
    #expect(MissCurvePlot(curve: curve, policy: .lru, symbols: .blocks).text.contains("█"))
  }

  @Test func statShowsTheCurveThatTheWriterPublished() throws {
    let tool = try Tool()
    #expect(try tool.run("put", "s", "u", "--budget", "10MB", input: Data(repeating: 7, count: 5000)).status == 0)
    #expect(try tool.run("stat", "s", "--json").json?["miss_curve"] is NSNull)
    #expect(try !tool.run("stat", "s").text.contains("under lru"))
    let file = try #require(tool.read("s/COUNTERS"))
    var counters = try #require(Counters([UInt8](file)))
    counters.curve = record()
    let bytes = counters.encoded()
    try tool.write(Data(bytes + [UInt8](repeating: 0, count: Counters.byteCount - bytes.count)), to: "s/COUNTERS")
    #expect(try tool.run("stat", "s").text.contains("under lru, estimated from a sample of 1,234,567 requests\n"))
    let json = try tool.run("stat", "s", "--json").json
    let curve = try #require(json?["miss_curve"] as? [String: Any])
    #expect(curve["budget_bytes"] as? Int == 64_000_000 && curve["requests"] as? Int == 1_234_567)
    #expect(curve["miss_ratio"] as? Double == 0.324)
    let points = try #require(curve["points"] as? [[String: Any]])
    let ratios = points.map { $0["miss_ratio"] as? Double ?? -1 }
    #expect(ratios == [1, 0.8123, 0.5, 0.333333, 0.2, 0.1, 0])
    let budgets = points.map { $0["budget_bytes"] as? Int ?? 0 }
    #expect(budgets.map { $0 / 1_000_000 } == [8, 16, 32, 64, 128, 256, 512])
    let sizes = points.map { $0["value_bytes"] as? Int ?? 0 }
    #expect(sizes == [500, 1000, 2000, 4000, 8000, 16_000, 32_000])
  }

  @Test func replayComparesTheCurveWithSimulatedLRU() throws {
    let folder = try TraceFolder()
    let requests = TraceSamples.skewed(2000, objects: 300, seed: 2, largest: 200)
    let file = folder.url.appending(path: "trace")
    try TraceSamples.text(requests).write(to: file)
    let trace = Trace(path: Array(file.path.utf8), format: nil)
    var results = ReplayResults(traceName: "trace", seed: 1, totals: nil, isComparison: false)
    var replay = ReplayReport(policy: .lru, budget: ReplayBudget(byteCount: 1 << 20))
    replay.curve = record().curve
    results.replays = [replay, ReplayReport(policy: .fifo, budget: ReplayBudget(byteCount: 1 << 20))]
    let checks = try CurveCheck.all(trace, results, progress: Progress("replay"))
    #expect(checks.count == 2 && checks[0].simulated.allSatisfy { $0.requestCount == 2000 })
    let cache = LRU(byteCapacity: 4000)
    var counts = MissCounts()
    for request in requests { counts.add(request.byteCount, isHit: cache.request(request)) }
    #expect(checks[0].simulated[3] == counts && abs(checks[0].errors[3] - (0.333333 - counts.missRatio)) < 1e-9)
    var sum = 0.0
    for error in checks[0].errors { sum += abs(error) }
    #expect(checks[0].meanError == sum / 7 && sum > 0)
    #expect(checks[0].text.contains("simulated LRU") && checks[0].text.split(separator: "\n").count == 10)
    #expect(checks[1].errors.isEmpty && checks[1].text == "curve of fifo: too few requests or objects\n")
  }

  @Test func shortTraceHasNoCurve() throws {
    let tool = try Tool()
    try tool.write(Data("1 100\n2 5000\n1 100\n".utf8), to: "tiny")
    let json = try tool.run("replay", "tiny", "--budget", "1MiB", "--curve", "--json").json
    let curves = try #require(json?["curves"] as? [[String: Any]])
    #expect(curves.count == 1 && curves[0]["mean_error"] is NSNull && (curves[0]["points"] as? [Any])?.isEmpty == true)
    #expect(try tool.run("replay", "tiny", "--budget", "1MiB", "--curve").text.contains("curve of s3fifo: too few"))
  }
}
