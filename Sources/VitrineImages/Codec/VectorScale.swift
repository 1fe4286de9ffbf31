/// The size at which a picture without pixels of its own is drawn.
enum VectorScale {
  /// The longest side that the library draws.
  private static let longestSide = Double(Int16.max)

  /// Returns the least size of the picture's proportions that has at least the pixels of `wanted` in both directions, or
  /// the largest size within the limits if that is less. The resampler then enlarges it. Without `wanted`, returns the
  /// size of the header. So only the size of the header can exceed the limits.
  static func size(of picture: PixelSize, atLeast wanted: PixelSize?, _ limits: DecodingLimits) -> PixelSize {
    guard let wanted, picture.width > 0, picture.height > 0 else { return picture }
    let (width, height) = (Double(picture.width), Double(picture.height))
    let longest = min(Double(max(1, limits.side)), longestSide)
    let mostPixels = min(Double(max(1, limits.pixelCount)), Double(max(1, limits.byteCount)) / 4)
    let ideal = max(Double(wanted.width) / width, Double(wanted.height) / height)
    let most = min(longest / max(width, height), (mostPixels / (width * height)).squareRoot())
    func side(_ whole: Double) -> Int {
      // The product may be inexact.
      let side = ideal <= most ? (whole * ideal - 1e-6).rounded(.up) : (whole * most).rounded(.down)
      return Int(min(max(side, 1), longest))
    }
    return PixelSize(width: side(width), height: side(height))
  }
}
