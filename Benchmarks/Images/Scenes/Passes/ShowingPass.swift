import Foundation
import Vitrine
import VitrineImages

/// Shows pictures one after the other, each in several styles at the same time, and measures it.
enum ShowingPass {
  struct Result: Codable, Sendable {
    var urlCount = 0
    var requests = 0
    var bytes = 0
    var decodes = 0
    var seconds = 0.0
    var cpuSeconds = 0.0
    /// The number of pictures of each origin.
    var origins: [String: Int] = [:]
    /// URLs that gave no picture.
    var failed: [String] = []
  }

  /// The budget of the scenes' stores: large enough that pictures on a screen are never copied.
  static let budget = 1 << 30

  static func run(
    _ urls: [String], _ styles: [ImageStyle], _ pipeline: PicturePipeline, _ loader: CountingLoader
  ) async throws -> Result {
    var result = Result(urlCount: urls.count)
    let screen = Screen()
    let before = loader.count
    let start = (wall: WallTime.now, cpu: CPUTime.process)
    for url in urls {
      do {
        for response in try await responses(url, styles, pipeline) {
          result.decodes += response.decodeCount
          result.origins[response.origin.rawValue, default: 0] += 1
          screen.show(response.bitmap)
        }
      } catch is ImageError {
        result.failed.append(url)
      }
    }
    result.seconds = WallTime.now - start.wall
    result.cpuSeconds = CPUTime.process - start.cpu
    result.requests = loader.count.requests - before.requests
    result.bytes = loader.count.bytes - before.bytes
    return result
  }

  private static func responses(
    _ url: String, _ styles: [ImageStyle], _ pipeline: PicturePipeline
  ) async throws -> [PictureResponse] {
    try await withThrowingTaskGroup(of: PictureResponse.self) { group in
      for style in styles { group.addTask { try await pipeline.image(for: PictureRequest(url, style: style)) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}
