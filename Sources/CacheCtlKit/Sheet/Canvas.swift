/// Pixels to draw on: `0xAARRGGBB`, opaque, rows from the top without gaps. Drawing is clipped to the edges.
public struct Canvas: Sendable {
  public let width: Int
  public let height: Int
  public private(set) var pixels: [UInt32]

  public init(width: Int, height: Int, color: UInt32) {
    precondition(width > 0 && height > 0)
    self.width = width
    self.height = height
    pixels = [UInt32](repeating: color, count: width * height)
  }

  public func pixel(x: Int, y: Int) -> UInt32 { pixels[y * width + x] }

  public mutating func fill(x: Int, y: Int, width: Int, height: Int, color: UInt32) {
    let columns = max(0, x)..<max(0, x, min(self.width, x + width))
    for row in max(0, y)..<max(0, y, min(self.height, y + height)) {
      for column in columns { pixels[row * self.width + column] = color }
    }
  }

  /// Draws a frame of one pixel, inside the rectangle.
  public mutating func frame(x: Int, y: Int, width: Int, height: Int, color: UInt32) {
    fill(x: x, y: y, width: width, height: 1, color: color)
    fill(x: x, y: y + height - 1, width: width, height: 1, color: color)
    fill(x: x, y: y, width: 1, height: height, color: color)
    fill(x: x + width - 1, y: y, width: 1, height: height, color: color)
  }

  /// Draws the two diagonals of the rectangle, one pixel wide.
  public mutating func cross(x: Int, y: Int, width: Int, height: Int, color: UInt32) {
    let steps = max(width, height)
    guard width > 0, height > 0, steps > 1 else { return }
    for step in 0..<steps {
      let (across, down) = (step * (width - 1) / (steps - 1), step * (height - 1) / (steps - 1))
      fill(x: x + across, y: y + down, width: 1, height: 1, color: color)
      fill(x: x + width - 1 - across, y: y + down, width: 1, height: 1, color: color)
    }
  }

  /// Draws squares of two colors, the background of pictures that are not opaque.
  public mutating func checker(x: Int, y: Int, width: Int, height: Int, side: Int, _ first: UInt32, _ second: UInt32) {
    for top in stride(from: 0, to: height, by: side) {
      for left in stride(from: 0, to: width, by: side) {
        fill(
          x: x + left, y: y + top, width: min(side, width - left), height: min(side, height - top),
          color: (left + top) / side % 2 == 0 ? first : second)
      }
    }
  }

  /// Draws a row of pixels with premultiplied alpha over the canvas.
  public mutating func blend(_ row: [UInt32], x: Int, y: Int) {
    guard y >= 0, y < height else { return }
    var column = x
    for pixel in row {
      if column >= 0, column < width {
        let place = y * width + column
        pixels[place] = Canvas.over(pixel, pixels[place])
      }
      column += 1
    }
  }

  private static func over(_ top: UInt32, _ bottom: UInt32) -> UInt32 {
    let rest = 255 - top >> 24
    if rest == 0 { return top }
    var pixel: UInt32 = 0xFF
    for shift: UInt32 in [16, 8, 0] {
      let below = ((bottom >> shift & 0xFF) * rest + 127) / 255
      // A color above its alpha is invalid, but some files have it.
      pixel = pixel << 8 | min(255, (top >> shift & 0xFF) + below)
    }
    return pixel
  }

  // MARK: Text

  public static let letterWidth = FontGlyphs.width
  public static let lineHeight = FontGlyphs.height

  /// Writes one line; `x` and `y` are its upper left corner. A letter missing in the font is drawn as a box.
  public mutating func write(_ text: String, x: Int, y: Int, color: UInt32) {
    var left = x
    for scalar in text.unicodeScalars {
      if let rows = FontGlyphs.rows(of: scalar) {
        for (row, bits) in rows.enumerated() where bits != 0 {
          for column in 0..<FontGlyphs.width where bits & 0x80 >> UInt8(column) != 0 {
            fill(x: left + column, y: y + row, width: 1, height: 1, color: color)
          }
        }
      } else {
        frame(x: left, y: y + 2, width: FontGlyphs.width - 1, height: 9, color: color)
      }
      left += FontGlyphs.width
    }
  }
}
