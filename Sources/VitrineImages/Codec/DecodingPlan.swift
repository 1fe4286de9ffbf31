/// The memory that a decoding needs, computed from the header within limits. The creator of a plan allocates it.
struct DecodingPlan {
  let info: ImageInfo
  let scale: JPEGScale
  /// The size of the decoded pixels.
  let size: PixelSize
  let bytesPerRow: Int
  /// The bytes of all rows.
  let byteCount: Int
  /// The bytes that the limits leave for the library's own memory.
  let workingByteCount: Int

  /// Throws `tooLarge`. The sides must be within the maximum of the format.
  init(_ info: ImageInfo, atLeast wanted: PixelSize?, _ limits: DecodingLimits) throws(ImageError) {
    try limits.check(info.size)
    self.info = info
    scale = info.format == .jpeg ? JPEGScale(of: info, atLeast: wanted) : .full
    size = scale.applied(to: info.size)
    bytesPerRow = (size.width * 4 + 63) & ~63
    let (byteCount, overflow) = bytesPerRow.multipliedReportingOverflow(by: size.height)
    self.byteCount = byteCount
    let needed =
      overflow ? Int.max : byteCount.addingReportingOverflow(DecodingPlan.libraryByteCount(info)).partialValue
    workingByteCount = try limits.check(byteCount: needed, of: info.size)
  }

  /// The bytes that libwebp keeps for the whole picture: a second copy of lossless pixels, and for lossy pictures the
  /// alpha, which is lossless. The header of an animation does not say which of the two a frame has. libpng keeps two
  /// rows, and libjpeg counts its own memory.
  private static func libraryByteCount(_ info: ImageInfo) -> Int {
    guard info.format == .webp else { return 0 }
    let perPixel = info.isAnimated || info.hasAlpha && !info.isLossless ? 5 : info.isLossless ? 4 : 0
    return info.size.width * info.size.height * perPixel
  }
}
