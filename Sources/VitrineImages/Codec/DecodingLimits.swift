/// The limits of a decoding, for pictures from untrusted sources. All except the time are checked against the header
/// before any allocation.
public struct DecodingLimits: Sendable, Hashable {
  /// The limit of the longer side, in stored pixels.
  public var side: Int
  /// The limit of width times height in stored pixels. It also applies to a picture that is decoded at a smaller size.
  public var pixelCount: Int
  /// The limit in bytes of the decoded pixels together with the decoder's memory for the whole picture. A progressive
  /// JPEG takes up to 6 bytes for each stored pixel, a lossless WebP 4, a TIFF 4, an AVIF 8 or 16, a HEIC 12 or 20,
  /// a JPEG XL 40 or 56. The conversion of colors is not counted: at most 4 MiB for a profile, and some MiB for its
  /// table. The memory of the library that draws SVG is not counted, but bounded by the address space of its process.
  public var byteCount: Int
  /// The time limit in milliseconds, from the start of decoding. It is checked between rows or scans, and in WebP about
  /// every megapixel, so a decoding may end some milliseconds late. A HEIC or an AVIF is decoded without a check, a
  /// JPEG XL with a check after each 256 KiB of the file. An SVG is drawn without a check, and its process is killed some
  /// time after the limit. The preparation of a color conversion is not checked either, and takes at most some tenths of
  /// a second. The scan of the file's parts before decoding does not count; its time is linear in the file's length.
  public var milliseconds: Int
  /// The limit of the number of frames of an animation. ``AnimationReader`` checks it; the other limits apply to each
  /// frame.
  public var frameCount: Int

  /// Creates limits. The defaults admit pictures of cameras and scanners: 32,768 pixels a side, 120 million pixels,
  /// 512 MiB, 10 s, 10,000 frames.
  public init(
    side: Int = 32_768, pixelCount: Int = 120_000_000, byteCount: Int = 512 << 20, milliseconds: Int = 10_000,
    frameCount: Int = 10_000
  ) {
    self.side = side
    self.pixelCount = pixelCount
    self.byteCount = byteCount
    self.milliseconds = milliseconds
    self.frameCount = frameCount
  }

  /// Throws `tooLarge` if the size in the header exceeds the limits.
  func check(_ size: PixelSize) throws(ImageError) {
    if max(size.width, size.height) > side { throw tooLarge(size, "\(side) pixels a side") }
    let (count, overflow) = size.width.multipliedReportingOverflow(by: size.height)
    if overflow || count > pixelCount { throw tooLarge(size, "\(pixelCount) pixels") }
  }

  /// Returns the bytes that remain after `needed` ones for a picture of the stored size `size`. Throws `tooLarge` if
  /// they exceed the limit.
  func check(byteCount needed: Int, of size: PixelSize) throws(ImageError) -> Int {
    // No machine has `Int.max` bytes, under any limit.
    if needed > byteCount || needed < 0 || needed == .max { throw tooLarge(size, memoryLimit) }
    return byteCount - needed
  }

  var memoryLimit: String { "\(byteCount) bytes of memory" }

  private func tooLarge(_ size: PixelSize, _ limit: String) -> ImageError {
    .tooLarge(width: size.width, height: size.height, limit: limit)
  }
}
