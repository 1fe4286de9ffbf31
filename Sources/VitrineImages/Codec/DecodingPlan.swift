/// What decoding a picture will take, by its header, within limits. Whoever makes it has the memory made that it tells.
struct DecodingPlan {
  let info: ImageInfo
  let scale: JPEGScale
  /// Of the pixels.
  let size: PixelSize
  let bytesPerRow: Int
  /// Of all rows.
  let byteCount: Int
  /// What the limits leave for the library's own memory.
  let workingByteCount: Int

  /// Throws `tooLarge`. The sides are those that the format can have at most, whoever has read them.
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

  /// What libwebp keeps of a picture as a whole: lossless pixels once more, and of others the alpha, itself lossless. Which
  /// of both a frame of an animation has, its header does not say. libpng keeps two rows, libjpeg counts by itself.
  private static func libraryByteCount(_ info: ImageInfo) -> Int {
    guard info.format == .webp else { return 0 }
    let perPixel = info.isAnimated || info.hasAlpha && !info.isLossless ? 5 : info.isLossless ? 4 : 0
    return info.size.width * info.size.height * perPixel
  }
}
