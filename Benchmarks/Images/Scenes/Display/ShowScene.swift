import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// The cost of showing one picture: from the store, and from a JPEG of the right size.
struct ShowScene: Scene {
  let name = "show"
  let summary = "one picture shown from the store, or decoded from a JPEG of the right size: CPU and memory"

  static let styles = ["square-60@2x", "square-100@2x", "rectangle-320x240@2x"].map { try! ImageStyle(name: $0) }
  static let pictureCount = 20

  /// Seconds of CPU time for one picture.
  struct Costs: Codable, Sendable {
    var style: String
    var byteCount: Int
    var jpegByteCount: Int
    /// A get from the store without reading the bytes.
    var get = 0.0
    /// A get through a pipeline with an empty memory cache.
    var pipeline = 0.0
    var getAndRead = 0.0
    var getAndCopy = 0.0
    /// The first get after the store was opened: the bytes are checked, and their pages are loaded.
    var firstGetAndCopy = 0.0
    /// The JPEG's bytes are in memory.
    var decode = 0.0
    var decodeAndRead = 0.0
    var decodeAndCopy = 0.0
  }

  private struct Values: Encodable, Sendable {
    var costs: [Costs]
    var memory: [ScreenfulMemory]
  }

  func run(_ bench: Bench) async throws -> SceneReport {
    let folder = try bench.folder("show")
    let samples = try await ShowSamples(bench.photos(), ShowScene.styles, count: ShowScene.pictureCount, in: folder)
    var costs: [Costs] = []
    for style in ShowScene.styles {
      Progress.say("\(style.name) ...")
      costs.append(try await samples.costs(style))
    }
    let style = ShowScene.styles.last!
    var memory: [ScreenfulMemory] = []
    for way in ScreenfulMemory.Way.allCases {
      memory.append(
        try ChildRole.hold.result(ScreenfulMemory.self, [way.rawValue, folder.path, style.name, "\(samples.count)"]))
    }
    return report(Values(costs: costs, memory: memory), samples.count)
  }

  private func report(_ values: Values, _ count: Int) -> SceneReport {
    var table = MarkdownTable(
      "CPU, us a picture", "get", "pipeline", "get, read", "get, copy", "first get, copy", "decode", "decode, read",
      "decode, copy", "decode / get", "pipeline", "read", "copy")
    for cost in values.costs {
      table.add(
        "`\(cost.style)`, \(Quantity.bytes(cost.byteCount)), JPEG \(Quantity.bytes(cost.jpegByteCount))",
        Figure.microseconds(cost.get), Figure.microseconds(cost.pipeline), Figure.microseconds(cost.getAndRead),
        Figure.microseconds(cost.getAndCopy), Figure.microseconds(cost.firstGetAndCopy),
        Figure.microseconds(cost.decode), Figure.microseconds(cost.decodeAndRead),
        Figure.microseconds(cost.decodeAndCopy),
        "\(Quantity.count(Int(cost.decode / cost.get)))",
        Quantity.fixed(cost.decode / cost.pipeline, places: 1),
        Quantity.fixed(cost.decodeAndRead / cost.getAndRead, places: 1),
        Quantity.fixed(cost.decodeAndCopy / cost.getAndCopy, places: 1))
    }
    var memory = MarkdownTable(
      "a screenful held", "pixels", "`Private_Dirty`", "`Anonymous`", "`Private_Clean`", "resident")
    for held in values.memory {
      memory.add(
        held.way.title, Figure.megabytes(held.byteCount), Figure.megabytes(held.growth.privateDirty),
        Figure.megabytes(held.growth.anonymous), Figure.megabytes(held.growth.privateClean),
        Figure.megabytes(held.growth.resident))
    }
    return SceneReport(
      scene: name,
      setting: """
        \(count) pictures in each style; the medians of rounds over all of them, on one thread. `read`: every pixel is \
        read; `copy`: and written to a frame buffer, the same in both; `pipeline`: asked of a `PicturePipeline` whose \
        memory holds nothing, CPU of the whole process. The last four columns are ratios (wanted: 20).
        """,
      tables: [table, memory],
      remarks: [
        "Memory is what the process has more than before it held the \(count) pictures and had read every pixel."
      ],
      values: values)
  }
}
