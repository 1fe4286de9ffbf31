/// The description of a picture in its header.
public struct ImageInfo: Sendable, Hashable {
  /// The format of the file.
  public let format: ImageFormat
  /// The stored size in pixels, before the orientation is applied.
  public let size: PixelSize
  /// The transformation that makes the stored picture upright.
  public let orientation: Orientation
  /// Whether pixels may be transparent.
  public let hasAlpha: Bool
  /// The bits of one channel as stored: 1 to 16. Decoded pixels always have 8.
  public let bitsPerChannel: Int
  /// The colors as stored.
  public let colors: Colors
  /// Whether the pixels come in several passes: a progressive JPEG or an interlaced PNG.
  public let isProgressive: Bool
  /// Whether there are several frames, of which the first is decoded. For a PNG, that is the picture for viewers
  /// without animation.
  public let isAnimated: Bool
  /// Whether the stored pixels are lossless: those of PNG, GIF, BMP, ICO and lossless WebP.
  public let isLossless: Bool

  /// Whether the picture can be drawn at any size without a loss: SVG. A style enlarges such a picture.
  public var isVector: Bool { format == .svg }

  /// Creates a description, for a ``FormatDecoding``.
  public init(
    format: ImageFormat, size: PixelSize, orientation: Orientation = .upright, hasAlpha: Bool = false,
    bitsPerChannel: Int = 8, colors: Colors = .rgb, isProgressive: Bool = false, isAnimated: Bool = false,
    isLossless: Bool = false
  ) {
    self.format = format
    self.size = size
    self.orientation = orientation
    self.hasAlpha = hasAlpha
    self.bitsPerChannel = bitsPerChannel
    self.colors = colors
    self.isProgressive = isProgressive
    self.isAnimated = isAnimated
    self.isLossless = isLossless
  }

  /// The kinds of color that a file may store.
  public enum Colors: Sendable, Hashable {
    /// Luminance only.
    case gray
    /// Red, green and blue.
    case rgb
    /// CMYK or YCCK.
    case cmyk
  }

  /// The size in pixels once the orientation is applied.
  public var uprightSize: PixelSize { orientation.applied(to: size) }
}
