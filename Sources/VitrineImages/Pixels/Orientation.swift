/// How a stored picture has to be turned to be upright: what EXIF counts from 1 to 8.
///
/// Each of the eight is a mirroring of columns, a mirroring of rows, or both, and then, or not, an exchange of rows and
/// columns; so that is what the renderer does, on the small picture that it has made.
public enum Orientation: Int, Sendable, Hashable, CaseIterable {
  /// As stored.
  case upright = 1
  /// Left and right are exchanged.
  case mirrored = 2
  /// To be turned by a half.
  case upsideDown = 3
  /// Top and bottom are exchanged.
  case mirroredUpsideDown = 4
  /// Rows and columns are exchanged.
  case transposed = 5
  /// To be turned clockwise by a quarter.
  case turnedLeft = 6
  /// Rows and columns are exchanged, and then the picture is turned by a half.
  case transverse = 7
  /// To be turned anticlockwise by a quarter.
  case turnedRight = 8

  /// What EXIF says, or `upright` where it says something else: a strange number is no reason for no picture.
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

  /// Whether, after that, columns become rows.
  public var transposes: Bool { rawValue >= Orientation.transposed.rawValue }

  /// A stored picture's size when it is upright, or an upright one's as it is stored.
  public func applied(to size: PixelSize) -> PixelSize { transposes ? size.transposed : size }

  /// Where in a stored picture of `size` a rectangle of the upright one lies.
  func stored(_ rectangle: PixelRectangle, in size: PixelSize) -> PixelRectangle {
    var stored = transposes ? rectangle.transposed : rectangle
    if mirrorsColumns { stored.x = Double(size.width) - stored.x - stored.width }
    if mirrorsRows { stored.y = Double(size.height) - stored.y - stored.height }
    return stored
  }
}

/// A part of a picture, in pixels and fractions of them, from its upper left corner.
struct PixelRectangle: Hashable, Sendable {
  var x: Double
  var y: Double
  var width: Double
  var height: Double

  var transposed: PixelRectangle { PixelRectangle(x: y, y: x, width: height, height: width) }
}
