/// How a picture comes into a rectangle of other proportions.
public enum ContentMode: Sendable, Hashable {
  /// Fills all of it; what stands over at two sides is cut away. The bitmap has exactly the style's size.
  case fill
  /// Lies whole in it: the bitmap is smaller than the style's size in one direction, and never larger than the picture.
  case fit
}
