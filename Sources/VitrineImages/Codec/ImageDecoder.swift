import CImageCodecs
import Vitrine

/// Makes pixels of JPEG, PNG and WebP, whatever the bytes are: a picture or an ``ImageError``, in bounded time and memory.
///
/// A value without state: one may be used by any number of threads at once. Calls block the thread that makes them.
/// Bytes are read where they lie, without a copy, and must not change meanwhile. Those of an `UnsafeRawBufferPointer` are
/// its `bytes`.
///
/// Colours are taken as sRGB: profiles and gamma in a file are not looked at.
public struct ImageDecoder: PictureDecoding {
  /// The limits of each decoding. A picture beyond them is an ``ImageError``.
  public var limits: DecodingLimits

  /// Makes a decoder. O(1); allocates nothing.
  public init(limits: DecodingLimits = DecodingLimits()) { self.limits = limits }

  /// What the header says; no pixel is decoded, and no limit looked at. Throws `unsupportedFormat`, `truncated`,
  /// `corrupt`, or `tooLarge` for sides that the format itself has not. Costs microseconds, and a look at each part of
  /// the file.
  public func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo {
    try bytes.withUnsafeBytes { buffer throws(ImageError) in
      let bytes = PictureBytes(buffer)
      return try readInfo(bytes, ImageFormat(bytes), checksLimits: false)
    }
  }

  /// Reads the header of a picture in an array. Throws as ``info(of:)`` for a span does.
  public func info(of bytes: [UInt8]) throws(ImageError) -> ImageInfo { try info(of: bytes.span.bytes) }

  /// The picture, or the first frame of an animation.
  ///
  /// A JPEG is decoded at the smallest of eight scales whose pixels, when upright, are at least as many in both
  /// directions as `size` says when the header is known, which takes less time and memory. Nil, and all other formats: as
  /// large as stored.
  ///
  /// Throws all that ``ImageError`` has for decoding, and what `size` throws; never gives a picture of which a part is
  /// missing.
  public func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage {
    try bytes.withUnsafeBytes { buffer throws(ImageError) in
      let bytes = PictureBytes(buffer)
      let info = try header(of: bytes)
      let plan = try DecodingPlan(info, atLeast: try size(info), limits)
      let memory = try PixelMemory(byteCount: plan.byteCount)
      try draw(bytes, plan, into: memory.bytes)
      return DecodedImage(size: plan.size, bytesPerRow: plan.bytesPerRow, info: info, memory: memory)
    }
  }

  // MARK: In two steps

  /// Within the limits.
  func header(of bytes: PictureBytes) throws(ImageError) -> ImageInfo {
    try readInfo(bytes, ImageFormat(bytes), checksLimits: true)
  }

  /// `memory` has the plan's bytes, zeroed. The plan is that of the same bytes' header.
  func draw(
    _ bytes: PictureBytes, _ plan: DecodingPlan, into memory: UnsafeMutableRawBufferPointer
  ) throws(ImageError) {
    let pixels = vitrine_image_pixels(memory, bytesPerRow: plan.bytesPerRow, plan.size)
    let bounds = vitrine_image_limits(limits, workingByteCount: plan.workingByteCount)
    var result = vitrine_image_result()
    switch plan.info.format {
    case .jpeg: vitrine_jpeg_decode(bytes.pointer, bytes.count, plan.scale.eighths, bounds, pixels, &result)
    case .png: vitrine_png_decode(bytes.pointer, bytes.count, bounds, pixels, &result)
    case .webp: vitrine_webp_decode(bytes.pointer, bytes.count, bounds, pixels, &result)
    }
    try result.check(plan.info.format, limits, plan.info.size)
  }

  // MARK: Inside

  private func readInfo(
    _ bytes: PictureBytes, _ format: ImageFormat, checksLimits: Bool
  ) throws(ImageError) -> ImageInfo {
    var info = vitrine_image_info()
    var result = vitrine_image_result()
    switch format {
    case .jpeg: vitrine_jpeg_info(bytes.pointer, bytes.count, &info, &result)
    case .png: vitrine_png_info(bytes.pointer, bytes.count, &info, &result)
    case .webp: vitrine_webp_info(bytes.pointer, bytes.count, &info, &result)
    }
    let size = PixelSize(width: Int(info.width), height: Int(info.height))
    // First of all, and whatever else is wrong with it.
    if checksLimits { try limits.check(size) }
    try result.check(format, limits, size)
    let scan = ContainerScan(bytes, format)
    return ImageInfo(
      format: format, size: size, orientation: scan.orientation, hasAlpha: info.has_alpha,
      bitsPerChannel: Int(info.bits), colors: info.is_cmyk ? .cmyk : info.is_gray ? .gray : .rgb,
      isProgressive: info.is_progressive, isAnimated: info.is_animated || scan.isAnimated,
      isLossless: info.is_lossless)
  }
}
