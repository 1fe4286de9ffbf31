/// Orders pictures by how well they replace a picture that is not available yet.
enum NearestStyle {
  /// Returns those of `styles` that have a size, the best first. Order: `wanted` itself, of which an older picture may
  /// exist; then styles with the same part of the picture and the same shape; then with the same part; then all
  /// others. Within each group the larger styles come first, the nearest first, and then the smaller ones, the largest
  /// first. If `wanted` has no size, such as an original, the largest style comes first.
  static func order(_ styles: [ImageStyle], near wanted: ImageStyle) -> [ImageStyle] {
    let ranked = styles.compactMap { style in
      Rank(style, near: wanted).map { (style, $0) }
    }
    return ranked.sorted { $0.1 < $1.1 || $0.1 == $1.1 && $0.0.key < $1.0.key }.map(\.0)
  }

  private struct Rank: Comparable {
    /// 0 for the same style; 1 for the same part and shape; 2 for the same part; 3 for all others.
    var difference = 3
    var isSmaller = true
    /// The difference to the wanted number of pixels.
    var distance: Int

    init?(_ style: ImageStyle, near wanted: ImageStyle) {
      guard let size = style.pixelSize else { return nil }
      let pixels = size.width * size.height
      guard let target = wanted.pixelSize else {
        distance = -pixels
        return
      }
      if Rank.showsTheSame(style, wanted) { difference = style.isRounded == wanted.isRounded ? 1 : 2 }
      if style == wanted { difference = 0 }
      isSmaller = size.width < target.width || size.height < target.height
      distance = abs(pixels - target.width * target.height)
    }

    /// Returns whether both styles show the same part of a picture: their aspect ratios differ by at most 1 %.
    private static func showsTheSame(_ a: ImageStyle, _ b: ImageStyle) -> Bool {
      guard let first = a.size, let second = b.size, a.mode == b.mode else { return false }
      let ratio = first.width.value * second.height.value / (first.height.value * second.width.value)
      return (0.99...1.01).contains(ratio)
    }

    static func < (a: Rank, b: Rank) -> Bool {
      (a.difference, a.isSmaller ? 1 : 0, a.distance) < (b.difference, b.isSmaller ? 1 : 0, b.distance)
    }
  }
}

extension ImageStyle {
  fileprivate var isRounded: Bool { if case .roundedRectangle = shape { true } else { false } }

  fileprivate var mode: ContentMode? {
    switch shape {
    case .original, .free: nil
    case .rectangle(_, _, let mode), .roundedRectangle(_, _, _, _, let mode): mode
    }
  }
}
