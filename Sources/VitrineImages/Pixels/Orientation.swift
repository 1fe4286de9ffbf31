/// The transformation that makes a stored picture upright, numbered 1 to 8 as in EXIF.
///
/// Each of the eight mirrors columns, rows, both or neither, and then may exchange rows and columns. The renderer does
/// this on the small result.
public enum Orientation: Int, Sendable, Hashable, CaseIterable {
  /// The picture is stored upright.
  case upright = 1
  /// Left and right are exchanged.
  case mirrored = 2
  /// Rotate by 180 degrees.
  case upsideDown = 3
  /// Top and bottom are exchanged.
  case mirroredUpsideDown = 4
  /// Rows and columns are exchanged.
  case transposed = 5
  /// Rotate clockwise by 90 degrees.
  case turnedLeft = 6
  /// Exchange rows and columns, then rotate by 180 degrees.
  case transverse = 7
  /// Rotate counterclockwise by 90 degrees.
  case turnedRight = 8

  /// Creates the orientation of an EXIF value. An unknown value counts as `upright`, so that the picture is still
  /// shown.
  init(exif: Int) { self = Orientation(rawValue: exif) ?? .upright }

  var mirrorsColumns: Bool {
    switch self {
    case .mirrored, .upsideDown, .transverse, .turnedRight: true
    case .upright, .mirroredUpsideDown, .transposed, .turnedLeft: false
    }
  }

  var mirrorsRows: Bool {
    switch self {
    case .upsideDown, .mirroredUpsideDown, .turnedLeft, .transverse: true
    case .upright, .mirrored, .transposed, .turnedRight: false
    }
  }

  /// Whether rows and columns are exchanged after the mirroring.
  public var transposes: Bool { rawValue >= Orientation.transposed.rawValue }

  /// Returns the upright size of a stored picture, or the stored size of an upright one.
  public func applied(to size: PixelSize) -> PixelSize { transposes ? size.transposed : size }

  /// Returns the rectangle in a stored picture of `size` that shows a rectangle of the upright picture.
  func stored(_ rectangle: PixelRectangle, in size: PixelSize) -> PixelRectangle {
    var stored = transposes ? rectangle.transposed : rectangle
    if mirrorsColumns { stored.x = Double(size.width) - stored.x - stored.width }
    if mirrorsRows { stored.y = Double(size.height) - stored.y - stored.height }
    return stored
  }
}

/// A part of a picture, in pixels and fractions, from its upper left corner.
struct PixelRectangle: Hashable, Sendable {
  var x: Double
  var y: Double
  var width: Double
  var height: Double

  var transposed: PixelRectangle { PixelRectangle(x: y, y: x, width: height, height: width) }
}
