/// What the header of a picture says.
public struct ImageInfo: Sendable, Hashable {
  /// The format of the file.
  public let format: ImageFormat
  /// As stored, before it is turned.
  public let size: PixelSize
  /// The turn that makes the stored picture upright.
  public let orientation: Orientation
  /// Whether pixels may be transparent; they need not be.
  public let hasAlpha: Bool
  /// Bits of one channel as stored: 1, 2, 4, 8 or 16. Decoded it is always 8.
  public let bitsPerChannel: Int
  /// The colors as stored.
  public let colors: Colors
  /// Whether it comes in several passes: a progressive JPEG, an interlaced PNG.
  public let isProgressive: Bool
  /// Whether it has several frames, of which the first is decoded. Of a PNG that is the picture for those who know no
  /// animation.
  public let isAnimated: Bool
  /// Whether the format keeps every pixel: true for PNG and lossless WebP.
  public let isLossless: Bool

  /// The kinds of color that a file may store.
  public enum Colors: Sendable, Hashable {
    /// Luminance alone.
    case gray
    /// Red, green and blue.
    case rgb
    /// Also YCCK. Decoded to sRGB without a profile.
    case cmyk
  }

  /// The size when it is upright.
  public var uprightSize: PixelSize { orientation.applied(to: size) }
}
