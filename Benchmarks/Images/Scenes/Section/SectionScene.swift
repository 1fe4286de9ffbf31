import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// A section of 20 offers opens repeatedly, each with its shop's photo.
struct SectionScene: Scene {
  let name = "section"
  let summary = "20 offers with photos open: CPU without a cache, with a JPEG file each, with Vitrine"

  static let offerCount = 20
  static let openingCount = 15
  static let style = try! ImageStyle(name: "rectangle-320x240@2x")

  private enum Way: String, Encodable {
    case nothing = "nothing: what measuring takes, in all rows"
    case copying = "the copying to the screen alone"
    case withoutCache = "without a cache, every opening"
    case filesAtFirst = "JPEG files, first opening"
    case files = "JPEG files, later openings"
    case storeAtFirst = "Vitrine, first opening"
    case memory = "Vitrine, later openings, from memory"
    case store = "Vitrine, later openings, from the store"
    case storeOpenedAnew = "Vitrine, later openings, the store opened anew"
  }

  /// One way to open the section.
  private struct Row: Encodable, Sendable {
    var way: Way
    var usages: [CPUSampler.Usage] = []

    var total: Double { median(usages.map(\.total)) }
    var peak: Double { median(usages.map(\.peak)) }
  }

  private struct Values: Encodable, Sendable {
    var style: String
    var rows: [Row]
    /// The share of CPU time that later openings from the store save against files, both without the cost of
    /// measuring.
    var savedShare: Double
    /// The saved share, including the opening and closing of the store.
    var savedShareWhenOpenedAnew: Double
  }

  func run(_ bench: Bench) async throws -> SceneReport {
    let photos = try bench.photos()
    let server = try ServerProcess(photos.folder, .plain, log: bench.work.appending(path: "section.log"))
    defer { server.stop() }
    let section = try await OfferSection(
      photos: photos, server: server, style: SectionScene.style, count: SectionScene.offerCount)

    var rows: [Row] = []
    func measure(
      _ way: Way, count: Int = SectionScene.openingCount, prepare: () -> Void = {},
      _ open: () async throws -> Void
    ) async throws {
      var row = Row(way: way)
      for _ in 0..<count {
        prepare()
        try await Task.sleep(nanoseconds: 300_000_000)
        let sampler = CPUSampler()
        try await open()
        // Work that continues after the opening counts as well.
        try await Task.sleep(nanoseconds: 1_000_000_000)
        row.usages.append(sampler.stop())
      }
      rows.append(row)
      Progress.say("\(way.rawValue): \(Figure.milliseconds(row.total)) ms of CPU")
    }

    let held = try await section.bitmaps()
    try await measure(.nothing) {}
    try await measure(.copying) { section.draw(held) }
    try await measure(.withoutCache, count: 3) { try await section.openWithoutCache() }
    let files = try bench.folder("section-files")
    try await measure(.filesAtFirst, count: 1) { try await section.openAndWriteFiles(files) }
    try await measure(.files) { try await section.openFromFiles(files) }

    let path = try bench.folder("section-store").path
    var store = try CacheStore.open(at: path, options: StoreOptions(byteBudget: ShowingPass.budget))
    let pipeline = section.pipeline(store)
    try await measure(.storeAtFirst, count: 1) { try await section.open(pipeline) }
    try await measure(.memory) { try await section.open(pipeline) }
    try await measure(
      .store, prepare: { pipeline.trimMemory() },
      { try await section.open(pipeline) })
    pipeline.trimMemory()
    try store.close()
    try await measure(.storeOpenedAnew, count: 5) {
      store = try CacheStore.open(at: path)
      try await section.open(section.pipeline(store))
      try store.close()
    }
    return report(rows, bench)
  }

  private func report(_ rows: [Row], _ bench: Bench) -> SceneReport {
    var table = MarkdownTable("opening", "CPU, ms", "of it beyond the copying", "peak of a 10 ms window")
    func total(_ way: Way) -> Double { rows.first { $0.way == way }?.total ?? .nan }
    let nothing = total(.nothing)
    func savedShare(_ way: Way) -> Double { 1 - (total(way) - nothing) / (total(.files) - nothing) }
    for row in rows {
      table.add(
        row.way.rawValue, Figure.milliseconds(row.total), Figure.milliseconds(max(0, row.total - total(.copying))),
        Figure.percent(row.peak))
    }
    let values = Values(
      style: SectionScene.style.name, rows: rows, savedShare: savedShare(.store),
      savedShareWhenOpenedAnew: savedShare(.storeOpenedAnew))
    return SceneReport(
      scene: name,
      setting: """
        \(SectionScene.offerCount) offers, each with a \(bench.photosFolder == nil ? "drawn " : "")photo as \
        `\(SectionScene.style.name)`; medians. CPU is that of the whole process until a second behind the opening.
        """,
      tables: [table],
      remarks: [
        """
        Measuring itself left out, a later opening from memory takes \(Figure.percent(savedShare(.memory), places: 1)) \
        less CPU than with files, one from the store \(Figure.percent(values.savedShare, places: 1)) less (wanted: \
        90 %), and \(Figure.percent(values.savedShareWhenOpenedAnew, places: 1)) less where the store is opened and \
        closed as well.
        """
      ],
      values: values)
  }
}
