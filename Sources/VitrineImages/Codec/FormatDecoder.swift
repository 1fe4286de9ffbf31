import Vitrine

/// A decoder of one format, provided by the program. ``ImageDecoder/init(limits:formats:)`` takes it.
///
/// Thread-safe. Calls block the calling thread. The bytes are not trusted.
public protocol FormatDecoding: Sendable {
  /// The format. The error of a damaged picture names it.
  var format: ImageFormat { get }

  /// Whether the bytes begin like a file of the format. O(1). Called only for bytes that the built-in codecs
  /// of ``ImageDecoder`` do not decode.
  func recognizes(_ bytes: RawSpan) -> Bool

  /// Returns the description in the header. Must not allocate memory by numbers in the file. Throws ``ImageError``.
  func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo

  /// Returns the whole picture. `info` is the description of the same bytes, and its size is within `limits`. `size`
  /// is the smallest acceptable upright size in pixels, or nil for full size; a larger result is fine. Throws
  /// ``ImageError``.
  func decode(
    _ bytes: RawSpan, _ info: ImageInfo, atLeast size: PixelSize?, limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage
}
