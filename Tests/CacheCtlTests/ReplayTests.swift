import CacheCtlBase
import CacheCtlKit
import Foundation
import Testing
import Vitrine
import VitrineSimulation

@testable import CacheCtlTool

/// Replays through a real store, in this process.
@Suite struct ReplayTests {
  private let folder: TraceFolder

  init() throws { folder = try TraceFolder() }

  private func replay(
    _ trace: Trace, _ policy: EvictionPolicy = .lru, budget: Int, expected: TracePayload? = nil,
    warn: (String) -> Void = { _ in }
  ) throws -> ReplayReport {
    try Replay(
      trace, policy: policy, budget: ReplayBudget(byteCount: budget), payload: TracePayload(seed: 1),
      expected: expected, path: folder.url.appending(path: "store-\(UUID())").path
    ).run(progress: CacheCtlBase.Progress("test"), warn: warn)
  }

  @Test func countsOfAHandMadeTraceAreExact() throws {
    // Object 2 comes back with another size, and object 9 is larger than a store of 1 MiB can hold.
    let trace = try folder.trace(Data("1 100\n2 5000\n1 100\n2 6000\n9 5000000\n2 6000\n9 5000000\n".utf8))
    let report = try replay(trace, budget: 1 << 20)
    #expect(report.counts.requestCount == 7 && report.counts.missCount == 5)
    #expect(report.counts.requestedByteCount == 10_017_200)
    #expect(report.counts.missedByteCount == 10_011_100)
    #expect(report.putCount == 3 && report.putByteCount == 11_100 && report.refusedCount == 2)
    // The get of the old size of object 2 returns its old bytes, which are compared too.
    #expect(report.gets.count == 3 && report.puts.count == 3)
    #expect(report.usage.liveByteCount == 6100 && report.usage.averageLiveByteCount == 6100)
    #expect(report.evictionCount == 0 && !report.usage.wasFull)
    #expect(report.mismatchCount == 0 && report.damagedCount == 0 && report.problems.isEmpty)
    #expect(report.engineAmplification > 1)
  }

  @Test func everyHitIsComparedWithTheExpectedBytes() throws {
    let trace = try folder.trace(Data("1 100\n1 100\n2 70\n3 9\n2 70\n1 100\n".utf8))
    var warnings: [String] = []
    let report = try replay(trace, budget: 1 << 20, expected: TracePayload(seed: 2)) { warnings.append($0) }
    #expect(report.mismatchCount == 3 && report.counts.missCount == 3)
    #expect(report.problems.count == 1 && report.problems[0].contains("3 hits returned other bytes"))
    #expect(warnings.count == 3 && warnings[0].contains("line 2: object 1 differs"))
  }

  @Test(arguments: EvictionPolicy.allCases)
  func fullStoreStaysInItsBudgetAndReportsItsContent(_ policy: EvictionPolicy) throws {
    let requests = TraceSamples.skewed(6000, objects: 1500, seed: 4, largest: 12_000)
    let trace = try folder.trace(TraceSamples.text(requests))
    let budget = 3 << 20
    let report = try replay(trace, policy, budget: budget)
    #expect(report.problems.isEmpty, "\(report.problems)")
    #expect(report.counts.requestCount == 6000 && report.counts.missCount == report.putCount)
    #expect(report.gets.count == 6000 - report.putCount)
    #expect(report.usage.wasFull && report.evictionCount > 0)
    #expect(report.usage.mostBytesOnDisk <= budget)
    #expect(report.usage.averageLiveByteCount < report.usage.mostBytesOnDisk)
    #expect(report.usage.averageLiveByteCount > budget / 3)
    #expect(report.engineAmplification > 1)
    if let written = report.written {
      // A page that is written again before the disk has it counts once, so there is no lower bound but one page.
      #expect(written.written >= 4096 && report.writeAmplification > 0)
    }
  }

  /// Without space for anything but payload, LRU keeps at least as much as the store does.
  @Test func storeMissesNoLessThanTheSameBudgetFullOfPayload() throws {
    let requests = TraceSamples.skewed(6000, objects: 1500, seed: 8, largest: 12_000)
    let trace = try folder.trace(TraceSamples.text(requests))
    let budget = 3 << 20
    var results = ReplayResults(traceName: "t", seed: 1, totals: nil, isComparison: true)
    for policy in EvictionPolicy.allCases { results.replays.append(try replay(trace, policy, budget: budget)) }
    results.simulations = try SimulationReport.all(trace, results, progress: CacheCtlBase.Progress("test"))
    let names = ["LRU", "FIFO", "SIEVE", "S3-FIFO"]
    #expect(results.simulations.map(\.policy) == (0..<5).flatMap { _ in names })
    let capacities = results.replays.map(\.usage.averageLiveByteCount) + [budget]
    #expect(results.simulations.map(\.byteCapacity) == capacities.flatMap { Array(repeating: $0, count: 4) })
    let counterparts = results.simulations.filter(\.isCounterpart)
    #expect(counterparts.map(\.store) == results.replays.map(\.policy))
    #expect(counterparts.map(\.policy) == ["LRU", "FIFO", "S3-FIFO", "SIEVE"])
    let text = ReplayText.text(results)
    for policy in EvictionPolicy.allCases { #expect(text.contains("  as much as \(policy.name) held")) }
    #expect(text.contains("the whole budget") && text.contains("longest"))
    let lru = try #require(results.replays.first { $0.policy == .lru })
    let whole = try #require(results.simulations.first { $0.policy == "LRU" && $0.capacity == .budget })
    #expect(whole.counts.requestCount == 6000)
    #expect(whole.counts.missCount <= lru.counts.missCount)
    #expect(results.simulations[0].counts.missCount >= whole.counts.missCount)
  }

  @Test func seriesOfSamplesAveragesOnlyThoseOfAFullStore() {
    var usage = UsageSamples()
    usage.add(bytesOnDisk: 500, liveByteCount: 10, isFull: false)
    #expect(usage.averageLiveByteCount == 10 && !usage.wasFull)
    usage.add(bytesOnDisk: 900, liveByteCount: 100, isFull: true)
    usage.add(bytesOnDisk: 800, liveByteCount: 200, isFull: true)
    #expect(usage.averageLiveByteCount == 150 && usage.liveByteCount == 200 && usage.mostBytesOnDisk == 900)
  }

  @Test func folderAboveItsBudgetIsAProblem() {
    var report = ReplayReport(policy: .lru, budget: ReplayBudget(byteCount: 1000))
    report.usage.add(bytesOnDisk: 1000, liveByteCount: 1, isFull: true)
    #expect(report.problems.isEmpty)
    report.usage.add(bytesOnDisk: 1001, liveByteCount: 1, isFull: true)
    #expect(report.problems.count == 1)
    report.damagedCount = 1
    #expect(report.problems.count == 2)
  }

  @Test func systemCountIsReadFromItsFile() {
    let text = "rchar: 5\nwchar: 7\nsyscr: 1\nwrite_bytes: 40960\ncancelled_write_bytes: 4096\n"
    let count = WrittenBytes(text)
    #expect(count == WrittenBytes(written: 40_960, cancelled: 4096))
    #expect(WrittenBytes("rchar: 5\n") == nil)
    #expect(
      count?.since(WrittenBytes(written: 10_240, cancelled: 96)) == WrittenBytes(written: 30_720, cancelled: 4000))
    // Nothing at all is not a count: the file system is in memory.
    #expect(count?.since(WrittenBytes(written: 40_960, cancelled: 0)) == nil)
  }

  @Test func writeAmplificationIsTheSystemsIfThereIsOne() {
    var report = ReplayReport(policy: .lru, budget: ReplayBudget(byteCount: 1000))
    report.engineAmplification = 1.5
    report.putByteCount = 1000
    #expect(report.writeAmplification == 1.5)
    report.written = WrittenBytes(written: 4000, cancelled: 100)
    #expect(report.writeAmplification == 4)
  }

  @Test func sharesAreDecimalNumbersAboveZero() {
    #expect(ReplayBudget.shares("0.01,0.3,1") == [0.01, 0.3, 1])
    for text in ["", "0", "0.0", "-1", "1e3", "0.1,", ",0.1", "nan", "inf", "0x1", "1 2", ".", "1.2.3"] {
      #expect(ReplayBudget.shares(text) == nil, "\(text)")
    }
    #expect(ReplayBudget(share: 0.1, of: 1005).byteCount == 100)
    #expect(ReplayBudget(share: 1e300, of: 1 << 40).byteCount == StoreOptions.largestByteBudget)
  }

  @Test func percentileNeverExceedsTheLongestDuration() {
    var histogram = LatencyHistogram()
    #expect(histogram.nanoseconds(0.5) == 0)
    // Alone in its class, whose middle is above it.
    histogram.add(65_537)
    #expect(histogram.nanoseconds(0.999) == 65_537)
    for value in 1...1000 as ClosedRange<UInt64> { histogram.add(value * 1000) }
    #expect((470_000...530_000).contains(histogram.nanoseconds(0.5)))
    #expect((950_000...1_000_000).contains(histogram.nanoseconds(0.999)))
  }
}
