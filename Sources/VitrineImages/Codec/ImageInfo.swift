#if Images
  /// What the header of a picture says.
  public struct ImageInfo: Sendable, Hashable {
    public let format: ImageFormat
    /// As stored, before it is turned.
    public let size: PixelSize
    public let orientation: Orientation
    /// Whether pixels may be transparent; they need not be.
    public let hasAlpha: Bool
    /// Bits of one channel as stored: 1, 2, 4, 8 or 16. Decoded it is always 8.
    public let bitsPerChannel: Int
    public let colors: Colors
    /// Whether it comes in several passes: a progressive JPEG, an interlaced PNG.
    public let isProgressive: Bool
    /// Whether it has several frames, of which the first is decoded. Of a PNG that is the picture for those who know no
    /// animation.
    public let isAnimated: Bool
    public let isLossless: Bool

    public enum Colors: Sendable, Hashable {
      case gray
      case rgb
      /// Also YCCK. Decoded to sRGB without a profile.
      case cmyk
    }

    /// The size when it is upright.
    public var uprightSize: PixelSize { orientation.applied(to: size) }
  }
#endif
