/// One frame of an animation, as its file describes it.
struct AnimationPart: Sendable, Hashable {
  /// The treatment of the frame's pixels before the next frame is drawn.
  enum Disposal: Sendable {
    /// They stay.
    case keep
    /// They become transparent.
    case clear
    /// The pixels under the frame return.
    case restore
  }

  /// The left edge on the canvas, in pixels.
  var left: Int
  /// The upper edge on the canvas, in pixels.
  var top: Int
  /// In pixels.
  var width: Int
  /// In pixels.
  var height: Int
  /// The time until the next frame, as the file states it.
  var milliseconds: Int
  var disposal: Disposal
  /// Whether the pixels are drawn over those of the canvas. Otherwise they replace them.
  var isBlended: Bool
  /// The index of transparent pixels of a GIF.
  var transparentIndex: UInt8?
  /// The bytes of the frame in the file, in the form of the format.
  var bytes: Range<Int>

  /// The time for which viewers show the frame. Browsers also replace 10 ms and less by 100 ms.
  var duration: Duration { .milliseconds(milliseconds <= 10 ? 100 : milliseconds) }
}

/// The description of an animation's colors, which each frame needs as a file of its own.
enum AnimationColors {
  /// Longer descriptions count as absent. The decoders ignore longer profiles, too.
  static let mostByteCount = 4 << 20
}

/// The frames of an animated file.
///
/// Reads the parts of the file by their lengths, without pixels: O(parts). Numbers in the file are not trusted. Each
/// frame can be had as a file of its own, which a ``PictureDecoding`` decodes like any picture.
protocol AnimationFile: Sendable {
  var format: ImageFormat { get }
  /// The size of the whole picture in pixels.
  var canvas: PixelSize { get }
  /// The number of times to play the frames, or nil for no end.
  var playCount: Int? { get }
  var parts: [AnimationPart] { get }
  /// The error to report after the last frame, if the file ends too early or breaks the rules there.
  var damage: ImageError? { get }

  /// Returns the file of one frame. `bytes` are those that the parts were read from. Throws `corrupt` for a wrong
  /// checksum.
  func still(of part: AnimationPart, in bytes: PictureBytes) throws(ImageError) -> [UInt8]
}
