/// How much a picture may ask for, which came from anywhere. All are checked against the header before anything is
/// allocated, save the time.
public struct DecodingLimits: Sendable, Hashable {
  /// Pixels of the longer side, as stored.
  public var side: Int
  /// Width times height, as stored: also of a picture that is decoded smaller.
  public var pixelCount: Int
  /// Bytes for the decoded pixels, and for what the decoder keeps of the picture as a whole meanwhile: a progressive
  /// JPEG takes up to six for each stored pixel, a lossless WebP four.
  public var byteCount: Int
  /// From the start of decoding. Looked at between rows or scans, in WebP about every megapixel; so an end may come some
  /// milliseconds later. What comes before, a look at each part of the file, is not counted: it is linear in the file's
  /// length.
  public var milliseconds: Int

  /// The defaults let pass what cameras and scanners make: 32,768 pixels a side, 120 million pixels, 512 MiB, 10 s.
  public init(
    side: Int = 32_768, pixelCount: Int = 120_000_000, byteCount: Int = 512 << 20, milliseconds: Int = 10_000
  ) {
    self.side = side
    self.pixelCount = pixelCount
    self.byteCount = byteCount
    self.milliseconds = milliseconds
  }

  /// Throws `tooLarge` for a header that claims more.
  func check(_ size: PixelSize) throws(ImageError) {
    if max(size.width, size.height) > side { throw tooLarge(size, "\(side) pixels a side") }
    let (count, overflow) = size.width.multipliedReportingOverflow(by: size.height)
    if overflow || count > pixelCount { throw tooLarge(size, "\(pixelCount) pixels") }
  }

  /// Throws `tooLarge` unless so many bytes are allowed for a picture that is stored with that size; else says how many
  /// are left.
  func check(byteCount needed: Int, of size: PixelSize) throws(ImageError) -> Int {
    // So much no memory has, whatever is allowed.
    if needed > byteCount || needed < 0 || needed == .max { throw tooLarge(size, memoryLimit) }
    return byteCount - needed
  }

  var memoryLimit: String { "\(byteCount) bytes of memory" }

  private func tooLarge(_ size: PixelSize, _ limit: String) -> ImageError {
    .tooLarge(width: size.width, height: size.height, limit: limit)
  }
}
