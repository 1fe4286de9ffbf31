/// The memory that a decoding needs, computed from the header within the limits. The caller allocates it.
struct DecodingPlan {
  let info: ImageInfo
  let scale: JPEGScale
  /// The size of the decoded pixels.
  let size: PixelSize
  let bytesPerRow: Int
  /// The bytes of all rows.
  let byteCount: Int
  /// The number of bytes that the limits leave for the memory of the library.
  let workingByteCount: Int

  /// Throws `tooLarge`. The sides must be within the maximum of the format.
  init(_ info: ImageInfo, atLeast wanted: PixelSize?, _ limits: DecodingLimits) throws(ImageError) {
    try limits.check(info.size)
    self.info = info
    scale = info.format == .jpeg ? JPEGScale(of: info, atLeast: wanted) : .full
    size =
      info.isVector ? VectorScale.size(of: info.size, atLeast: wanted, limits) : scale.applied(to: info.size)
    bytesPerRow = (size.width * 4 + 63) & ~63
    let (byteCount, overflow) = bytesPerRow.multipliedReportingOverflow(by: size.height)
    self.byteCount = byteCount
    let perPixel = FormatCodec.of(info.format)?.keptBytesPerPixel(info) ?? 0
    // No overflow: the product of the sides is within the limits.
    let (kept, isTooMuch) = (info.size.width * info.size.height).multipliedReportingOverflow(by: perPixel)
    let (sum, isMore) = byteCount.addingReportingOverflow(kept)
    workingByteCount = try limits.check(byteCount: overflow || isTooMuch || isMore ? .max : sum, of: info.size)
  }
}
