/// The pixels of a picture as stored in its file: 8 bits each of red, green, blue and alpha, straight alpha, sRGB,
/// orientation not applied. Thread-safe. The pixels are valid while the value is referenced.
public struct DecodedImage: Sendable {
  /// The size in pixels: that of `info`, or a smaller one of a JPEG that was decoded at a scale, or any of an SVG.
  public let size: PixelSize
  /// The bytes from the start of one row to the next, a multiple of 64.
  public let bytesPerRow: Int
  /// The description in the header; `info.size` is the size as stored.
  public let info: ImageInfo
  let memory: PixelMemory

  init(size: PixelSize, bytesPerRow: Int, info: ImageInfo, memory: PixelMemory) {
    self.size = size
    self.bytesPerRow = bytesPerRow
    self.info = info
    self.memory = memory
  }

  /// Creates a picture that `draw` draws, for a ``FormatDecoding``.
  ///
  /// - Parameters:
  ///   - info: The description in the file's header.
  ///   - size: The size in pixels, or nil for `info.size`.
  ///   - draw: Gets zeroed memory of `size.height` rows, and the bytes from the start of one row to the next. If
  ///     `info.hasAlpha` is false, every alpha must be 255.
  /// - Throws: `invalidArgument` for sides below 1, `outOfMemory`, and errors of `draw`.
  public init(
    _ info: ImageInfo, size: PixelSize? = nil, _ draw: (inout MutableRawSpan, Int) throws(ImageError) -> Void
  ) throws(ImageError) {
    let size = size ?? info.size
    let (width, isTooWide) = size.width.multipliedReportingOverflow(by: 4)
    let (byteCount, overflow) = (max(0, width) | 63).multipliedReportingOverflow(by: max(0, size.height))
    guard size.width > 0, size.height > 0 else { throw .invalidArgument("a picture has at least one pixel") }
    guard !isTooWide, !overflow, byteCount < Int.max / 2 else { throw .outOfMemory(byteCount: .max) }
    let bytesPerRow = (width + 63) & ~63
    let memory = try PixelMemory(byteCount: bytesPerRow * size.height)
    var span = memory.bytes.mutableBytes
    try draw(&span, bytesPerRow)
    self.init(size: size, bytesPerRow: bytesPerRow, info: info, memory: memory)
  }

  /// Whether pixels may be transparent. Always true for animated WebP, since the first frame may not cover the whole
  /// picture.
  public var hasAlpha: Bool { info.hasAlpha || info.format == .webp && info.isAnimated }

  /// The transformation that makes the picture upright.
  public var orientation: Orientation { info.orientation }

  /// The size in pixels once the orientation is applied.
  public var uprightSize: PixelSize { orientation.applied(to: size) }

  /// Calls `body` with the pixels: `size.height` rows, `bytesPerRow` bytes apart. The span is valid only during the
  /// call. Rethrows errors of `body`.
  public func withPixels<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    defer { withExtendedLifetime(memory) {} }
    return try body(UnsafeRawBufferPointer(memory.bytes).bytes)
  }
}
