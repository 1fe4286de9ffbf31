import Foundation

/// How much of each pixel lies inside of a rounded rectangle in the middle of a bitmap: its area, exactly.
///
/// All is reckoned in one quarter of the shape, from its middle, so that the four corners are the same to the bit.
struct RoundedMask: Hashable, Sendable {
  /// The bitmap's, in pixels.
  let size: PixelSize
  /// From the bitmap's edge to the shape's, in pixels.
  let border: Double
  /// From the shape's middle to its sides, in pixels.
  private let halfWidth: Double
  private let halfHeight: Double
  /// Of the shape's corners, in pixels: 0 up to half of its shorter side.
  private let radius: Double

  /// - Parameters:
  ///   - cornerRadius: of the whole bitmap's corners, in pixels. The shape's own are concentric with them, so that the
  ///     border is equally wide all around.
  ///   - border: in pixels; twice of it is less than the shorter side.
  init(size: PixelSize, cornerRadius: Double, border: Double) {
    self.size = size
    self.border = border
    halfWidth = Double(size.width) / 2 - border
    halfHeight = Double(size.height) / 2 - border
    let outer = min(cornerRadius, Double(min(size.width, size.height)) / 2)
    radius = min(max(outer - border, 0), halfWidth, halfHeight)
  }

  /// Of the same shape lying on its side.
  var transposed: RoundedMask { RoundedMask(self) }

  private init(_ other: RoundedMask) {
    size = other.size.transposed
    border = other.border
    halfWidth = other.halfHeight
    halfHeight = other.halfWidth
    radius = other.radius
  }

  /// A pixel's place in the quarter: from, to, and how often, since the pixel in the middle of an odd number lies there
  /// twice with one half.
  private typealias Extent = (from: Double, to: Double, times: Double)

  private static func extent(_ index: Int, of count: Int) -> Extent {
    let from = Double(index) - Double(count) / 2
    return from >= 0 ? (from, from + 1, 1) : from <= -1 ? (-from - 1, -from, 1) : (0, 0.5, 2)
  }

  /// For row `y`, 0 to 1 for each pixel.
  func cover(row y: Int, _ coverage: UnsafeMutablePointer<Float>) {
    let rows = RoundedMask.extent(y, of: size.height)
    let height = max(0, min(rows.to, halfHeight) - rows.from) * rows.times
    // Up to `whole` from the middle only the row's own height matters; from `end` on there is nothing.
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

  /// How far the shape reaches to the side, at a height above its middle.
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
    // The part of it beyond the corner's centre, both ways, is a part of a disc instead.
    let (x, y) = (halfWidth - radius, halfHeight - radius)
    if right > x, high > y, radius > 0 {
      let (x0, y0) = (max(left - x, 0), max(low - y, 0))
      area += discArea(x0, right - x, y0, high - y) - (right - x - x0) * (high - y - y0)
    }
    return area * columns.times * rows.times
  }

  /// The area of a rectangle inside of a disc of `radius` around the origin; all coordinates from 0 to `radius`.
  private func discArea(_ x0: Double, _ x1: Double, _ y0: Double, _ y1: Double) -> Double {
    func arc(_ height: Double) -> Double { max(0, radius * radius - height * height).squareRoot() }
    func integral(_ x: Double) -> Double {
      (x * arc(x) + radius * radius * asin(min(x / radius, 1))) / 2
    }
    // Left of `full` the rectangle ends below the arc, right of `none` it begins above it.
    let full = min(max(arc(y1), x0), x1)
    let none = min(max(arc(y0), x0), x1)
    return (full - x0) * (y1 - y0) + integral(none) - integral(full) - y0 * (none - full)
  }
}
