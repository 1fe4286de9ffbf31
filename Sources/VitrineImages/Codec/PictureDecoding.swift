import Vitrine

/// Makes pixels of a picture's bytes. ``ImageDecoder`` does it where it is called, ``ProcessDecoder`` in processes of their
/// own.
///
/// Safe from any number of threads at once. Calls block the thread that makes them.
public protocol PictureDecoding: Sendable {
  /// Pictures beyond these are refused.
  var limits: DecodingLimits { get }

  /// The picture, or the first frame of an animation. `size` is asked once, when the header is known, for how many pixels
  /// are wanted at least, upright; nil for as large as stored. What it throws is thrown.
  ///
  /// The bytes come from anywhere; what is made of them is a whole picture or an ``ImageError``.
  func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage
}

extension PictureDecoding {
  /// The same where the size is known before.
  public func decode(_ bytes: RawSpan, atLeast size: PixelSize? = nil) throws(ImageError) -> DecodedImage {
    try decode(bytes) { _ throws(ImageError) in size }
  }

  /// Decodes a picture in an array. Throws as the requirement of the protocol does.
  public func decode(_ bytes: [UInt8], atLeast size: PixelSize? = nil) throws(ImageError) -> DecodedImage {
    try decode(bytes.span.bytes, atLeast: size)
  }
}
