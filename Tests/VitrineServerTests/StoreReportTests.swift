import FolderRemoval
import Foundation
import Testing

@testable import Vitrine
@testable import VitrineServer

/// The page about a store at rest.
struct StoreReportTests {
  private func statistics(_ body: (CacheStore) throws -> Void = { _ in }) throws -> StoreStatistics {
    let folder = NSTemporaryDirectory() + "vitrine-report-\(UUID().uuidString)"
    defer { try? FileManager.default.removeFolderInUse(atPath: folder) }
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 64 << 20))
    try body(store)
    defer { try? store.close() }
    return store.statistics()
  }

  @Test func reportOfAnEmptyStoreSaysSo() throws {
    let page = StoreReport(path: "s", try statistics(), styles: [], evictionAges: []).html
    #expect(page.contains("No entry yet."))
    #expect(page.contains("No entry was evicted."))
    #expect(page.contains("after 10,000 requests"))
    #expect(!page.contains("refresh"))
    try expectClosedElements(page)
  }

  @Test func reportShowsStylesAgesCurveAndSegmentsAndNeedsNothingFromElsewhere() throws {
    var statistics = try statistics { store in
      for number in 0..<20 { try store.put([UInt8](repeating: 7, count: 5000), for: "https://example.org/\(number)") }
    }
    let budgets = [8, 16, 32, 64, 128, 256, 512]
    statistics.missCurve = MissCurve(
      points: budgets.map { .init(byteBudget: $0 << 20, valueByteCount: 1, missRatio: 8 / Double($0)) },
      byteBudget: 64 << 20, requestCount: 12_345, missRatio: 0.25)
    let page = StoreReport(
      path: "a<b>&\"c'", statistics,
      styles: [
        .init(name: "original", entryCount: 20, byteCount: 100_000), .init(name: "<s>", entryCount: 1, byteCount: 0),
      ], evictionAges: [(4, 10), (nil, 1)]
    ).html
    for text in [
      "a&lt;b&gt;&amp;&quot;c&#39;", "&lt;s&gt;", "original", "<polyline", "12,345 requests", "25.0%", "longer",
      "class=\"dead\"",
      "class=\"meter\"",
    ] {
      #expect(page.contains(text), "\(text)")
    }
    for text in ["<script", "http://", "https://", "<s>", "a<b>"] { #expect(!page.contains(text), "\(text)") }
    try expectClosedElements(page)
  }

  @Test func reportCountsStylesBeyondItsLimit() throws {
    let styles = (0..<1000).map { StoreReport.StyleSum(name: "style-\($0)", entryCount: 1, byteCount: 1) }
    let page = StoreReport(path: "s", try statistics(), styles: styles, evictionAges: []).html
    #expect(page.contains("and 950 more"))
    #expect(!page.contains("style-50<"))
  }

  @Test func reportTellsOfLostRemovals() throws {
    var statistics = try statistics()
    #expect(StoreReport(path: "s", statistics, styles: [], evictionAges: []).html.contains("state good"))
    statistics.lastOpen.mayHaveLostRemovals = true
    let page = StoreReport(path: "s", statistics, styles: [], evictionAges: []).html
    #expect(page.contains("state bad"))
    #expect(page.contains("removed keys may have come back"))
  }
}
