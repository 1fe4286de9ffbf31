import CImageCodecs
import Vitrine

/// Decodes JPEG, PNG, WebP, BMP and ICO. With the package trait `MoreFormats`, also decodes GIF, AVIF, HEIC, JPEG XL
/// and TIFF. A program may add formats, such as SVG by an ``SVGDecoder``. Any bytes give a picture or an ``ImageError``, in bounded time and memory.
///
/// A stateless value, which several threads may use at once. Calls block the calling thread. Bytes are read in place
/// without a copy and must not change during the call. For an `UnsafeRawBufferPointer`, pass its `bytes`.
///
/// Colors are converted to sRGB by the file's profile. Without a profile, they count as sRGB. The last 16 conversions
/// are kept for the whole process, at most about 20 MiB.
public struct ImageDecoder: PictureDecoding {
  /// The limits of each decoding. A picture beyond them is an ``ImageError``.
  public var limits: DecodingLimits

  /// Decoders of further formats. The first that recognizes the bytes decodes them.
  public var formats: [any FormatDecoding]

  /// Whether this decoder draws SVG itself: in decoder processes only.
  var drawsVectors = false

  /// Creates a decoder. O(1); allocates nothing.
  public init(limits: DecodingLimits = DecodingLimits(), formats: [any FormatDecoding] = []) {
    self.limits = limits
    self.formats = formats
  }

  /// Returns the description in the header. Decodes no pixel and checks no limits. Throws `unsupportedFormat`,
  /// `truncated`, `corrupt`, or `tooLarge` for sides beyond the format's own maximum. Takes microseconds, and reads
  /// some bytes of each part of the file.
  public func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo {
    if let other = other(for: bytes) { return try other.info(of: bytes) }
    return try bytes.withUnsafeBytes { buffer throws(ImageError) in
      let bytes = PictureBytes(buffer)
      return try readInfo(bytes, ImageFormat(bytes), checksLimits: false)
    }
  }

  /// Reads the header of a picture in an array. Throws as ``info(of:)`` for a span does.
  public func info(of bytes: [UInt8]) throws(ImageError) -> ImageInfo { try info(of: bytes.span.bytes) }

  /// Decodes a picture, or the first frame of an animation.
  ///
  /// `size` is called once the header is known, and returns the smallest acceptable upright size, or nil for full
  /// size. A JPEG is decoded at the smallest of eight scales that has at least these pixels in both directions, which
  /// saves time and memory. Other built-in formats are decoded at full size.
  ///
  /// Throws ``ImageError``, including errors of `size`. Never returns a picture with missing parts.
  public func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage {
    if let other = other(for: bytes) {
      let info = try other.info(of: bytes)
      try limits.check(info.size)
      return try other.decode(bytes, info, atLeast: try size(info), limits: limits)
    }
    return try bytes.withUnsafeBytes { buffer throws(ImageError) in
      let bytes = PictureBytes(buffer)
      let info = try header(of: bytes)
      let plan = try DecodingPlan(info, atLeast: try size(info), limits)
      let memory = try PixelMemory(byteCount: plan.byteCount)
      try draw(bytes, plan, into: memory.bytes)
      return DecodedImage(size: plan.size, bytesPerRow: plan.bytesPerRow, info: info, memory: memory)
    }
  }

  // MARK: In two steps

  /// Reads the header, and checks it against the limits.
  func header(of bytes: PictureBytes) throws(ImageError) -> ImageInfo {
    try readInfo(bytes, ImageFormat(bytes), checksLimits: true)
  }

  /// Decodes into `memory`, which must be zeroed and have the plan's size. The plan must come from the header of the
  /// same bytes.
  func draw(
    _ bytes: PictureBytes, _ plan: DecodingPlan, into memory: UnsafeMutableRawBufferPointer
  ) throws(ImageError) {
    let pixels = vitrine_image_pixels(memory, bytesPerRow: plan.bytesPerRow, plan.size)
    let bounds = vitrine_image_limits(limits, workingByteCount: plan.workingByteCount)
    var result = vitrine_image_result()
    try codec(plan.info.format).decode(bytes, plan, bounds, pixels, &result)
    try result.check(plan.info.format, limits, plan.info.size)
  }

  // MARK: Inside

  private func codec(_ format: ImageFormat) throws(ImageError) -> FormatCodec {
    guard let codec = FormatCodec.of(format), drawsVectors || !codec.needsProcess else {
      throw .unsupportedFormat(found: format.name)
    }
    return codec
  }

  private func other(for bytes: RawSpan) -> (any FormatDecoding)? {
    if formats.isEmpty { return nil }
    if let format = try? ImageFormat(of: bytes), (try? codec(format)) != nil { return nil }
    for format in formats where format.recognizes(bytes) { return format }
    return nil
  }

  private func readInfo(
    _ bytes: PictureBytes, _ format: ImageFormat, checksLimits: Bool
  ) throws(ImageError) -> ImageInfo {
    var info = vitrine_image_info()
    var result = vitrine_image_result()
    try codec(format).readInfo(bytes, &info, &result)
    let size = PixelSize(width: Int(info.width), height: Int(info.height))
    // Limits are checked first, before other errors.
    if checksLimits { try limits.check(size) }
    try result.check(format, limits, size)
    let scan = ContainerScan(bytes, format)
    return ImageInfo(
      format: format, size: size,
      orientation: info.orientation == 0 ? scan.orientation : Orientation(exif: Int(info.orientation)),
      hasAlpha: info.has_alpha,
      bitsPerChannel: Int(info.bits), colors: info.is_cmyk ? .cmyk : info.is_gray ? .gray : .rgb,
      isProgressive: info.is_progressive, isAnimated: info.is_animated || scan.isAnimated,
      isLossless: info.is_lossless)
  }
}
