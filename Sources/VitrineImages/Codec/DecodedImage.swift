/// The pixels of a picture as its file has them: 8 bits of red, green, blue and alpha each, alpha straight, in sRGB, not
/// turned yet. Safe from any number of threads; valid as long as it is referenced.
public struct DecodedImage: Sendable {
  /// In pixels. Smaller than `info.size` where a JPEG was decoded at a scale.
  public let size: PixelSize
  /// A multiple of 64.
  public let bytesPerRow: Int
  /// The header's word; `info.size` is the size as stored.
  public let info: ImageInfo
  let memory: PixelMemory

  /// Whether pixels may be transparent. Of an animation always: its first frame need not cover it.
  public var hasAlpha: Bool { info.hasAlpha || info.format == .webp && info.isAnimated }

  /// What is still to be done to it.
  public var orientation: Orientation { info.orientation }

  /// The size in pixels once the orientation is applied.
  public var uprightSize: PixelSize { orientation.applied(to: size) }

  /// Lends the pixels: `size.height` rows, each `bytesPerRow` bytes behind the one before.
  public func withPixels<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    defer { withExtendedLifetime(memory) {} }
    return try body(UnsafeRawBufferPointer(memory.bytes).bytes)
  }
}
