import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// A small animation, and its frames as a pipeline should show them.
enum AnimatedSample {
  static let bytes = AnimationReaderTests.file().png
  static let square = try! ImageStyle.square(4)

  static func request(
    _ policy: PictureRequest.CachePolicy = .use, key: String = "a"
  ) -> PictureRequest {
    PictureRequest(key, style: square, cachePolicy: policy)
  }

  /// The frames in a style, drawn without a pipeline.
  static func expected(_ style: ImageStyle = square, _ bytes: [UInt8] = bytes) throws -> [[UInt8]] {
    try AnimationReaderTests.frames(bytes).map { try $0.image.rendered([style])[0].bytes }
  }

  static func shown(_ animation: AnimatedPicture?) async throws -> [[UInt8]] {
    var shown: [[UInt8]] = []
    guard let animation else { return [] }
    for try await frame in animation {
      #expect(frame.index == shown.count && frame.duration == animation.durations[frame.index])
      shown.append(frame.bitmap.bytes)
    }
    return shown
  }
}

extension PipelineBench {
  /// The stored animation of the key `a`.
  func frames(_ style: ImageStyle = AnimatedSample.square) -> Blob? {
    store.blob("a", style: Style("frames-\(style.name)")!)
  }
}
