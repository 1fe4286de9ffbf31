import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// Scrolls through a long list of people, against a slow server, from an empty store, in real time.
struct ListScene: Scene {
  let name = "list"
  let summary = "5,000 rows with 500 avatars, scrolled against a slow server, with and without preheating"

  static let avatarCount = 500
  static let delayMilliseconds = 100
  static let bytesPerSecond = 2_000_000

  private struct Values: Encodable, Sendable {
    var rowCount: Int
    var seconds: Double
    var rowsPerSecond: Double
    var runs: [ListRun.Result]
  }

  func run(_ bench: Bench) async throws -> SceneReport {
    let avatars = try bench.folder("avatars")
    try DrawnPicture.writeAvatars(count: ListScene.avatarCount, seed: bench.seed, into: avatars)
    let scroll = ListScroll(rowCount: bench.rowCount, visibleCount: ListRows.visibleCount, seed: bench.seed)
    var runs: [ListRun.Result] = []
    for preheating in ListPreheating.all {
      let seconds = Double(scroll.offsets.count) / ListScroll.framesPerSecond
      Progress.say("\(preheating.name), \(Int(seconds)) s ...")
      let server = try ServerProcess(
        avatars, .slow(delayMilliseconds: ListScene.delayMilliseconds, bytesPerSecond: ListScene.bytesPerSecond),
        log: bench.work.appending(path: "list.log"))
      defer { server.stop() }
      let rows = ListRows(
        count: bench.rowCount, urls: try Photos(in: avatars).names.map(server.url), seed: bench.seed)
      let store = try CacheStore.open(
        at: bench.folder("list-store").path, options: StoreOptions(byteBudget: ShowingPass.budget))
      var result = try await ListRun(rows, scroll, preheating, store).run()
      result.noteDownloads(server.requests)
      runs.append(result)
      Progress.say("  ready: \(Figure.percent(result.readyShare, places: 2)), \(result.downloads) downloads")
      try store.close()
    }
    return report(
      Values(
        rowCount: bench.rowCount, seconds: Double(scroll.offsets.count) / ListScroll.framesPerSecond,
        rowsPerSecond: scroll.meanSpeed, runs: runs))
  }

  private func report(_ values: Values) -> SceneReport {
    var shares = MarkdownTable(
      "preheating", "rows ready", "without the first screen", "appearances ready", "of", "downloads", "twice",
      "mapped")
    var frames = MarkdownTable(
      "preheating", "CPU a frame, mean", "99 %", "most", "wall a frame, mean", "99 %", "most", "above 2 ms",
      "of frames")
    for run in values.runs {
      shares.add(
        run.preheating, Figure.percent(run.readyShare, places: 2),
        Figure.percent(run.readyShareBehindFirstScreen, places: 2),
        Figure.percent(run.readyAppearanceShare, places: 2), Quantity.count(run.appearances), "\(run.downloads)",
        "\(run.downloadedTwice)", Figure.percent(run.mappedShare, places: 1))
      frames.add(
        run.preheating, Figure.milliseconds(run.cpu.mean), Figure.milliseconds(run.cpu.percentile99),
        Figure.milliseconds(run.cpu.most), Figure.milliseconds(run.wall.mean),
        Figure.milliseconds(run.wall.percentile99), Figure.milliseconds(run.wall.most),
        "\(run.cpu.aboveLimit) by CPU, \(run.wall.aboveLimit) by wall", Quantity.count(run.frameCount))
    }
    var report = SceneReport(
      scene: name,
      setting: """
        \(Quantity.count(values.rowCount)) rows with \(ListScene.avatarCount) avatars in three styles, ten of them \
        visible, scrolled at \(Quantity.fixed(values.rowsPerSecond, places: 1)) rows a second for \
        \(Int(values.seconds)) s; a server with \(ListScene.delayMilliseconds) ms delay and \
        \(Figure.megabytes(ListScene.bytesPerSecond))/s; an empty store.
        """,
      tables: [shares, frames], values: values)
    report.remarks.append(
      """
      A row is ready when its picture can be drawn in the frame in which the row first comes on the screen; the ten of \
      the first screen, which no preheating could foresee, count as rows that were not. Milliseconds of a frame are \
      the work of the thread that scrolls.
      """)
    for run in values.runs where run.downloadedTwice > 0 {
      report.failures.append("\(run.preheating): \(run.downloadedTwice) avatars were downloaded more than once")
    }
    return report
  }
}
