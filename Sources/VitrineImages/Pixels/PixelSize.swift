/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
  /// The number of pixels in a row.
  public var width: Int
  /// The number of rows.
  public var height: Int

  /// Creates a size. Accepts any numbers.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  public var description: String { "\(width)x\(height)" }

  /// The size with width and height exchanged.
  public var transposed: PixelSize { PixelSize(width: height, height: width) }
}
