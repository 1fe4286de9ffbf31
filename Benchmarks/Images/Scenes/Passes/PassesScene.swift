import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// A folder of photos is shown three times: from an empty store, again by the same pipeline, and by a new
/// process.
struct PassesScene: Scene {
  let name = "passes"
  let summary = "photos from a local server, first from nowhere, then from memory, then by a new process"

  private struct Values: Encodable, Sendable {
    var server: String
    var photoCount: Int
    var photoBytes: Int
    var styles: [String]
    var passes: [ShowingPass.Result]
    /// Counted in the server's log.
    var serverRequests: [Int]
  }

  static let styles = [try! ImageStyle(name: "square-100@2x"), try! ImageStyle(name: "rectangle-320x240")]

  func run(_ bench: Bench) async throws -> SceneReport {
    let photos = try bench.photos()
    let server = try ServerProcess(photos.folder, .plain, log: bench.work.appending(path: "passes.log"))
    defer { server.stop() }
    let urls = photos.names.map(server.url)
    let storePath = try bench.folder("passes-store").path
    let store = try CacheStore.open(at: storePath, options: StoreOptions(byteBudget: ShowingPass.budget))
    let loader = CountingLoader()
    let pipeline = PicturePipeline(.init(storage: StoreStorage(store), loader: loader))

    var passes: [ShowingPass.Result] = []
    var logged: [Int] = []
    func note(_ pass: ShowingPass.Result) {
      passes.append(pass)
      logged.append(server.requests.count - logged.reduce(0, +))
      Progress.say("\(passes.count). pass: \(pass.requests) requests, \(pass.decodes) decodes")
    }
    note(try await ShowingPass.run(urls, PassesScene.styles, pipeline, loader))
    // A file that is not a picture has no entry in the store either.
    let failed = passes[0].failed
    let shown = urls.filter { !failed.contains($0) }
    note(try await ShowingPass.run(shown, PassesScene.styles, pipeline, loader))
    try store.close()
    note(try ChildRole.pass.result(ShowingPass.Result.self, [storePath] + shown))

    for url in failed { Progress.say("no picture: \(url.split(separator: "/").last ?? "")") }
    let values = Values(
      server: server.name, photoCount: urls.count, photoBytes: photos.byteCount,
      styles: PassesScene.styles.map(\.name), passes: passes, serverRequests: logged)
    return report(values, bench, shownCount: shown.count)
  }

  /// Runs the third pass in a separate process. The words are STORE URL….
  static func runPass(_ words: [String]) async throws {
    guard let path = words.first else { throw BenchError("child-pass STORE URL…") }
    let loader = CountingLoader()
    let start = (wall: WallTime.now, cpu: CPUTime.process)
    let store = try CacheStore.open(at: path)
    let pipeline = PicturePipeline(.init(storage: StoreStorage(store), loader: loader))
    var result = try await ShowingPass.run(Array(words.dropFirst()), styles, pipeline, loader)
    // The time includes opening the store.
    result.seconds = WallTime.now - start.wall
    result.cpuSeconds = CPUTime.process - start.cpu
    try ChildRole.report(result)
    try store.close()
  }

  private func report(_ values: Values, _ bench: Bench, shownCount: Int) -> SceneReport {
    var table = MarkdownTable(
      "pass", "requests", "by the server's log", "bytes", "decodes", "ms a picture", "CPU seconds")
    let titles = ["first, empty store", "second, same pipeline: memory", "third, new process: store"]
    for (index, pass) in values.passes.enumerated() {
      table.add(
        titles[index], "\(pass.requests)", "\(values.serverRequests[index])", Figure.megabytes(pass.bytes),
        "\(pass.decodes)", Figure.milliseconds(pass.seconds / Double(max(1, pass.urlCount))),
        Figure.seconds(pass.cpuSeconds))
    }
    var report = SceneReport(
      scene: name,
      setting: """
        \(values.photoCount) \(bench.photosFolder == nil ? "drawn " : "")photos, \
        \(Figure.megabytes(values.photoBytes)), from \(values.server), one after the other, each in \
        \(values.styles.map { "`\($0)`" }.joined(separator: " and ")) at the same time.
        """,
      tables: [table], values: values)
    if shownCount < values.photoCount {
      report.remarks.append(
        "\(values.photoCount - shownCount) could not be decoded and are left out of the later passes.")
    }
    let (second, third) = (values.passes[1], values.passes[2])
    if shownCount == 0 { report.failures.append("none of the photos could be shown") }
    if third.requests > 0 || values.serverRequests[2] > 0 { report.failures.append("the third pass made requests") }
    if third.decodes > 0 { report.failures.append("the third pass decoded") }
    if second.requests > 0 || second.decodes > 0 {
      report.failures.append("the second pass made requests or decoded")
    }
    if !second.failed.isEmpty || !third.failed.isEmpty { report.failures.append("a later pass could not show all") }
    return report
  }
}
