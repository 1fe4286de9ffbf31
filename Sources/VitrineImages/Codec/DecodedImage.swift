/// The pixels of a picture as stored in its file: 8 bits each of red, green, blue and alpha, straight alpha, sRGB,
/// orientation not applied. Thread-safe. The pixels are valid while the value is referenced.
public struct DecodedImage: Sendable {
  /// The size in pixels; smaller than `info.size` if a JPEG was decoded at a scale.
  public let size: PixelSize
  /// The bytes from the start of one row to the next, a multiple of 64.
  public let bytesPerRow: Int
  /// The description in the header; `info.size` is the size as stored.
  public let info: ImageInfo
  let memory: PixelMemory

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
