import Vitrine

/// Decodes pictures. ``ImageDecoder`` decodes in the calling process, ``ProcessDecoder`` in separate processes.
///
/// Thread-safe. Calls block the calling thread.
public protocol PictureDecoding: Sendable {
  /// The limits. A picture beyond them is an error.
  var limits: DecodingLimits { get }

  /// Decodes a picture, or the first frame of an animation. `size` is called once, when the header is known. It
  /// returns the smallest acceptable upright size in pixels, or nil for full size. Its errors are rethrown.
  ///
  /// Throws ``ImageError``, also if the bytes are hostile: the result is a whole picture or an error. Takes time and
  /// memory within ``limits``.
  func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage
}

extension PictureDecoding {
  /// Decodes a picture with a size that is known beforehand. Throws as the requirement of the protocol does.
  public func decode(_ bytes: RawSpan, atLeast size: PixelSize? = nil) throws(ImageError) -> DecodedImage {
    try decode(bytes) { _ throws(ImageError) in size }
  }

  /// Decodes a picture in an array. Throws as the requirement of the protocol does.
  public func decode(_ bytes: [UInt8], atLeast size: PixelSize? = nil) throws(ImageError) -> DecodedImage {
    try decode(bytes.span.bytes, atLeast: size)
  }
}
