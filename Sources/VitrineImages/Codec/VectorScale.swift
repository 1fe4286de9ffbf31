/// The size at which a picture without pixels of its own is drawn.
enum VectorScale {
  /// Above the sides that any limit or library allows.
  private static let longestSide = Double(Int32.max)

  /// Returns the least size of the picture's proportions that has at least the pixels of `wanted` in both directions.
  /// Without `wanted`, returns the size of the header. A side is never longer than 2^31 - 1 pixels.
  static func size(of picture: PixelSize, atLeast wanted: PixelSize?) -> PixelSize {
    guard let wanted, picture.width > 0, picture.height > 0 else { return picture }
    let scale = max(
      Double(wanted.width) / Double(picture.width), Double(wanted.height) / Double(picture.height))
    func side(_ whole: Int, _ least: Int) -> Int {
      Int(min(max((Double(whole) * scale).rounded(.up), Double(least), 1), longestSide))
    }
    return PixelSize(width: side(picture.width, wanted.width), height: side(picture.height, wanted.height))
  }
}
