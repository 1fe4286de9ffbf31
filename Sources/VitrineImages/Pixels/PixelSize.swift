#if Images
  /// A width and a height in pixels.
  public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }

    public var description: String { "\(width)x\(height)" }

    /// Width and height exchanged.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }
  }
#endif
