import Vitrine
import VitrineImages

/// A color with straight alpha.
package struct RGBA: Equatable, CustomStringConvertible {
  package var red: UInt8
  package var green: UInt8
  package var blue: UInt8
  package var alpha: UInt8

  package init(_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  package var description: String { "(\(red) \(green) \(blue) \(alpha))" }

  package func isNear(_ other: RGBA, within tolerance: Int) -> Bool {
    zip([red, green, blue, alpha], [other.red, other.green, other.blue, other.alpha])
      .allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
  }
}

extension Bitmap {
  /// Draws a bitmap in a format of four bytes a pixel. `color` returns premultiplied colors.
  package static func drawn(
    _ width: Int, _ height: Int, format: PixelFormat = .rgba8888, bytesPerRow: Int? = nil, _ color: (Int, Int) -> RGBA
  ) -> Bitmap {
    let layout = BitmapLayout(width: width, height: height, bytesPerRow: bytesPerRow, format: format)!
    return try! Bitmap(layout: layout) { span in
      span.withUnsafeMutableBytes { bytes in
        for y in 0..<height {
          for x in 0..<width {
            let pixel = color(x, y)
            let isBlueFirst = format == .bgra8888 || format == .bgrx8888
            let (first, third) = isBlueFirst ? (pixel.blue, pixel.red) : (pixel.red, pixel.blue)
            let offset = y * layout.bytesPerRow + x * 4
            (bytes[offset], bytes[offset + 1], bytes[offset + 2]) = (first, pixel.green, third)
            bytes[offset + 3] = pixel.alpha
          }
        }
      }
    }
  }

  /// Returns an opaque picture without edges, which suits JPEG.
  package static func gradient(_ width: Int, _ height: Int) -> Bitmap {
    drawn(width, height) { x, y in
      RGBA(UInt8(40 + x * 160 / width), UInt8(60 + y * 120 / height), UInt8(200 - x * 100 / width))
    }
  }

  /// Returns a picture of which half is transparent to some degree.
  package static func glass(_ width: Int, _ height: Int) -> Bitmap {
    drawn(width, height) { x, y in
      let alpha = x * 2 < width ? 255 : y * 255 / height
      return RGBA(UInt8(alpha * 3 / 4), UInt8(alpha / 3), UInt8(alpha / 2), UInt8(alpha))
    }
  }
}

extension DecodedImage {
  package func color(_ x: Int, _ y: Int) -> RGBA {
    withPixels { span in
      span.withUnsafeBytes { bytes in
        let offset = y * bytesPerRow + x * 4
        return RGBA(bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3])
      }
    }
  }

  /// All colors, row by row, without padding.
  package var colors: [RGBA] {
    (0..<size.height).flatMap { y in (0..<size.width).map { x in color(x, y) } }
  }
}

extension Array where Element == UInt8 {
  package mutating func appendBig(_ value: Int, byteCount: Int) {
    for place in (0..<byteCount).reversed() { append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
  }

  package mutating func appendLittle(_ value: Int, byteCount: Int) {
    for place in 0..<byteCount { append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
  }
}
