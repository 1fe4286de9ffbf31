/// The ways to place a picture in a rectangle of other proportions.
public enum ContentMode: Sendable, Hashable {
  /// Fills the rectangle. Two sides of the picture are cropped if needed. The bitmap has exactly the style's size.
  case fill
  /// Fits the whole picture into the rectangle. The bitmap keeps the proportions of the picture, so it may be smaller
  /// than the style's size. Only vector pictures are enlarged.
  case fit
}
