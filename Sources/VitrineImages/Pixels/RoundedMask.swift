import Foundation

/// The exact area of each pixel inside a rounded rectangle in the middle of a bitmap.
///
/// All is computed in one quarter of the shape, from its middle, so the four corners are identical bit for bit.
struct RoundedMask: Hashable, Sendable {
  /// The size of the bitmap in pixels.
  let size: PixelSize
  /// The distance from the bitmap's edge to the shape's edge, in pixels.
  let border: Double
  /// The distances from the shape's middle to its sides, in pixels.
  private let halfWidth: Double
  private let halfHeight: Double
  /// The radius of the shape's corners in pixels: 0 up to half of its shorter side.
  private let radius: Double

  /// - Parameters:
  ///   - size: The size of the bitmap in pixels.
  ///   - cornerRadius: The radius of the whole bitmap's corners, in pixels. The shape's corners are concentric with
  ///     them, so that the border has equal width all around.
  ///   - border: The width of the border in pixels, less than half of the shorter side.
  init(size: PixelSize, cornerRadius: Double, border: Double) {
    self.size = size
    self.border = border
    halfWidth = Double(size.width) / 2 - border
    halfHeight = Double(size.height) / 2 - border
    let outer = min(cornerRadius, Double(min(size.width, size.height)) / 2)
    radius = min(max(outer - border, 0), halfWidth, halfHeight)
  }

  /// The mask with rows and columns exchanged.
  var transposed: RoundedMask { RoundedMask(self) }

  private init(_ other: RoundedMask) {
    size = other.size.transposed
    border = other.border
    halfWidth = other.halfHeight
    halfHeight = other.halfWidth
    radius = other.radius
  }

  /// The position of a pixel in the quarter, and its multiplicity. The middle pixel of an odd count lies there twice,
  /// with one half each.
  private typealias Extent = (from: Double, to: Double, times: Double)

  private static func extent(_ index: Int, of count: Int) -> Extent {
    let from = Double(index) - Double(count) / 2
    return from >= 0 ? (from, from + 1, 1) : from <= -1 ? (-from - 1, -from, 1) : (0, 0.5, 2)
  }

  /// Computes the coverage of the pixels in row `y`, 0 to 1 each.
  func cover(row y: Int, _ coverage: UnsafeMutablePointer<Float>) {
    let rows = RoundedMask.extent(y, of: size.height)
    let height = max(0, min(rows.to, halfHeight) - rows.from) * rows.times
    // Left of `whole`, the pixel's coverage is the covered height of the row; from `end` on, it is 0.
    let whole = reach(at: rows.to)
    let end = height > 0 ? reach(at: rows.from) : 0
    for x in 0..<(size.width + 1) / 2 {
      let columns = RoundedMask.extent(x, of: size.width)
      let value: Double =
        if columns.from >= end {
          0
        } else if columns.to <= whole {
          height
        } else {
          area(columns, rows)
        }
      coverage[x] = Float(min(max(value, 0), 1))
      coverage[size.width - 1 - x] = coverage[x]
    }
  }

  /// The half width of the shape at a distance `y` above its middle.
  private func reach(at y: Double) -> Double {
    if y >= halfHeight { return y > halfHeight ? 0 : halfWidth - radius }
    let rise = y - (halfHeight - radius)
    return rise <= 0 ? halfWidth : halfWidth - radius + max(0, radius * radius - rise * rise).squareRoot()
  }

  private func area(_ columns: Extent, _ rows: Extent) -> Double {
    let (left, right) = (columns.from, min(columns.to, halfWidth))
    let (low, high) = (rows.from, min(rows.to, halfHeight))
    guard right > left, high > low else { return 0 }
    var area = (right - left) * (high - low)
    // The part beyond the corner's center in both directions is part of a disc instead.
    let (x, y) = (halfWidth - radius, halfHeight - radius)
    if right > x, high > y, radius > 0 {
      let (x0, y0) = (max(left - x, 0), max(low - y, 0))
      area += discArea(x0, right - x, y0, high - y) - (right - x - x0) * (high - y - y0)
    }
    return area * columns.times * rows.times
  }

  /// The area of a rectangle inside a disc of `radius` around the origin. All coordinates are from 0 to `radius`.
  private func discArea(_ x0: Double, _ x1: Double, _ y0: Double, _ y1: Double) -> Double {
    func arc(_ height: Double) -> Double { max(0, radius * radius - height * height).squareRoot() }
    func integral(_ x: Double) -> Double {
      (x * arc(x) + radius * radius * asin(min(x / radius, 1))) / 2
    }
    // Left of `full` the rectangle ends below the arc; right of `none` it begins above the arc.
    let full = min(max(arc(y1), x0), x1)
    let none = min(max(arc(y0), x0), x1)
    return (full - x0) * (y1 - y0) + integral(none) - integral(full) - y0 * (none - full)
  }
}
