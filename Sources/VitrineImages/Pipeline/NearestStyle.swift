/// Which picture serves in place of another until that is there.
enum NearestStyle {
  /// Those of `styles` that have a size, the best first: `wanted` itself, of which there may be an older picture, and those
  /// that show the same part of the picture in the same shape, then the same part, then all others; among them the nearest larger first, and behind the larger the
  /// largest smaller. For a wanted style without a size, such as an original, the largest first.
  static func order(_ styles: [ImageStyle], near wanted: ImageStyle) -> [ImageStyle] {
    let ranked = styles.compactMap { style in
      Rank(style, near: wanted).map { (style, $0) }
    }
    return ranked.sorted { $0.1 < $1.1 || $0.1 == $1.1 && $0.0.key < $1.0.key }.map(\.0)
  }

  private struct Rank: Comparable {
    /// 0 for the same style, 1 for the same part of the picture in the same shape.
    var difference = 3
    var isSmaller = true
    /// Pixels above, or below.
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

    /// To about a pixel in a hundred.
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
