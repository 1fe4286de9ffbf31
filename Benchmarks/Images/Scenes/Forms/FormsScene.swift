import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// Shows one sequence of pictures from stores of one budget, which keep the shown pictures in different forms.
struct FormsScene: Scene {
  let name = "forms"
  let summary = "avatars shown by popularity, kept as pixels, encoded, or as it turns out, in one budget"

  static let avatarCount = 500
  static let showingCount = 10_000
  /// A fifth of the size of all pixels, and more than their size.
  static let budgets = [16 << 20, 112 << 20]
  static let style = try! ImageStyle(name: "square-100@2x")
  static let forms: [(name: String, form: StyledForm)] = [
    ("pixels", .pixels), ("encoded", .encoded), ("automatic", .automatic),
  ]

  private struct Row: Encodable, Sendable {
    var budget: Int
    var form: String
    /// The share of showings that the store served.
    var hitRatio: Double
    var downloads: Int
    var decodes: Int
    var cpuSeconds: Double
    /// The number of entries at the end.
    var entryCount: Int
  }

  private struct Values: Encodable, Sendable {
    var style: String
    var showings: Int
    var rows: [Row] = []
  }

  func run(_ bench: Bench) async throws -> SceneReport {
    let folder = try bench.folder("forms-avatars")
    try DrawnPicture.writeAvatars(count: FormsScene.avatarCount, seed: bench.seed, into: folder)
    let photos = try Photos(in: folder)
    let showings = Popularity(count: photos.names.count).draw(FormsScene.showingCount, seed: bench.seed)

    var values = Values(style: FormsScene.style.name, showings: showings.count)
    for budget in FormsScene.budgets {
      for (name, form) in FormsScene.forms {
        let path = try bench.folder("forms-store").path
        let store = try CacheStore.open(at: path, options: StoreOptions(byteBudget: budget))
        let row = try await show(showings, of: photos, from: store, as: form, name, budget)
        try store.close()
        values.rows.append(row)
        Progress.say("\(Figure.megabytes(budget)), \(name): \(Figure.seconds(row.cpuSeconds)) s of CPU")
      }
    }
    return report(values)
  }

  private func show(
    _ showings: [Int], of photos: Photos, from store: CacheStore, as form: StyledForm, _ name: String, _ budget: Int
  ) async throws -> Row {
    let loader = CountingLoader(FolderLoader(photos: photos))
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store), loader: loader)
    // Without a memory cache, because its hits are the same for every form.
    configuration.memory = MemoryLimits(cost: 0)
    configuration.keeps = .styled
    configuration.styledForm = form
    let pipeline = PicturePipeline(configuration)
    let screen = Screen()
    var hits = 0
    var decodes = 0
    let start = CPUTime.process
    for number in showings {
      let response = try await pipeline.image(for: PictureRequest(photos.names[number], style: FormsScene.style))
      if response.origin == .styled { hits += 1 }
      decodes += response.decodeCount
      screen.show(response.bitmap)
    }
    return Row(
      budget: budget, form: name, hitRatio: Double(hits) / Double(showings.count), downloads: loader.count.requests,
      decodes: decodes, cpuSeconds: CPUTime.process - start, entryCount: store.count)
  }

  private func report(_ values: Values) -> SceneReport {
    var table = MarkdownTable(
      "budget", "kept as", "showings that the store served", "downloads", "decodes", "CPU, us a showing", "entries")
    for row in values.rows {
      table.add(
        Figure.megabytes(row.budget), row.form, Figure.percent(row.hitRatio, places: 1), "\(row.downloads)",
        "\(row.decodes)", Figure.microseconds(row.cpuSeconds / Double(values.showings)), "\(row.entryCount)")
    }
    return SceneReport(
      scene: name,
      setting: """
        \(values.showings) showings of \(FormsScene.avatarCount) drawn avatars as `\(values.style)`, the n-th most \
        popular shown 1/n as often as the first; from an empty store, memory of the pipeline left out, originals not \
        kept, downloads free of charge.
        """,
      tables: [table], values: values)
  }
}
