import Vitrine

/// The three styles of raw bitmap of each picture, and their drawing. The drawing depends only on the picture's
/// number, so that the stored bitmap can be compared with a second drawing.
enum Thumbnail: CaseIterable {
  case square, rectangle, rounded

  var style: Style {
    switch self {
    case .square: Style("square-60@2x")!
    case .rectangle: Style("rectangle-320x240")!
    case .rounded: Style("rounded-60x60-r30")!
    }
  }

  var layout: BitmapLayout {
    switch self {
    // 60 points at twice the resolution; rows at a multiple of 64 bytes, as graphics hardware likes them.
    case .square: BitmapLayout(width: 120, height: 120, bytesPerRow: 512, format: .bgra8888)!
    case .rectangle: BitmapLayout(width: 320, height: 240, format: .rgb565)!
    case .rounded: BitmapLayout(width: 60, height: 60, bytesPerRow: 64, format: .gray8)!
    }
  }

  func draw(_ number: Int) -> [UInt8] {
    let layout = layout
    var noise = Noise(seed: UInt64(number) &* 31 &+ 7)
    let (tilt, base) = (noise.next(below: 200), noise.next(below: 256))
    var bytes = [UInt8](repeating: 0, count: layout.byteCount)
    for y in 0..<layout.height {
      let row = y * layout.bytesPerRow
      for x in 0..<layout.width {
        let level = base + x * 255 / layout.width + y * tilt / layout.height
        switch self {
        case .square:
          let pixel = row + x * 4
          bytes[pixel] = UInt8(truncatingIfNeeded: level)
          bytes[pixel + 1] = UInt8(truncatingIfNeeded: level / 2 + x)
          bytes[pixel + 2] = UInt8(truncatingIfNeeded: 255 - level / 3)
          bytes[pixel + 3] = 255
        case .rectangle:
          let (r, g, b) = (level >> 3 & 31, (level + y) >> 2 & 63, (255 - level) >> 3 & 31)
          let packed = UInt16(r << 11 | g << 5 | b)
          bytes[row + x * 2] = UInt8(truncatingIfNeeded: packed)
          bytes[row + x * 2 + 1] = UInt8(truncatingIfNeeded: packed >> 8)
        case .rounded:
          // A disc of radius 30, empty outside.
          let (dx, dy) = (2 * x - 59, 2 * y - 59)
          if dx * dx + dy * dy <= 60 * 60 { bytes[row + x] = UInt8(truncatingIfNeeded: level | 1) }
        }
      }
    }
    return bytes
  }
}
