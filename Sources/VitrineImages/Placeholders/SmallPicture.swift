import Foundation
import Vitrine

/// A small upright picture, from which a placeholder is computed, or which a placeholder describes.
struct SmallPicture {
  /// At least one pixel, and at most ``longestSide`` pixels a side.
  let size: PixelSize
  /// Red, green, blue and alpha, from 0 to 1, in rows from top to bottom. The colors are sRGB, not linear, and alpha is
  /// not multiplied in.
  private(set) var pixels: [SIMD4<Double>]

  static let longestSide = 32
  /// The largest number of samples of the large picture, in each direction, for one pixel here. The hashes average all
  /// pixels again, so more samples would make no visible difference. The number bounds the cost.
  private static let samplesPerSide = 2

  /// Creates a picture from its pixels, whose number must fit the size.
  init(size: PixelSize, pixels: [SIMD4<Double>]) {
    precondition(size.width > 0 && size.height > 0 && pixels.count == size.width * size.height)
    self.size = size
    self.pixels = pixels
  }

  /// Scales a picture down, by averages of light, and turns it upright. Reads at most 4 pixels for each pixel of the
  /// result.
  init(_ rows: PixelRows, _ orientation: Orientation) {
    let longest = max(rows.width, rows.height)
    func side(_ whole: Int) -> Int {
      let longestSide = SmallPicture.longestSide
      return longest <= longestSide ? whole : max(1, (whole * longestSide + longest / 2) / longest)
    }
    let stored = PixelSize(width: side(rows.width), height: side(rows.height))
    size = orientation.applied(to: stored)
    pixels = Array(repeating: .zero, count: stored.width * stored.height)
    let columns = (0..<stored.width).map { SmallPicture.samples($0, of: stored.width, in: rows.width) }
    for y in 0..<stored.height {
      let lines = SmallPicture.samples(y, of: stored.height, in: rows.height)
      for x in 0..<stored.width {
        let column = orientation.mirrorsColumns ? stored.width - 1 - x : x
        let line = orientation.mirrorsRows ? stored.height - 1 - y : y
        let place = orientation.transposes ? column * size.width + line : line * size.width + column
        pixels[place] = SmallPicture.average(rows, columns[x], lines)
      }
    }
  }

  /// Returns the positions of the large picture, evenly spaced, that belong to one position of the small one.
  private static func samples(_ index: Int, of count: Int, in whole: Int) -> [Int] {
    let (start, end) = (index * whole / count, (index + 1) * whole / count)
    let number = min(samplesPerSide, end - start)
    return (0..<number).map { start + (2 * $0 + 1) * (end - start) / (2 * number) }
  }

  private static func average(_ rows: PixelRows, _ columns: [Int], _ lines: [Int]) -> SIMD4<Double> {
    let light = TransferCurve.sRGB.light
    var sum = SIMD4<Double>.zero
    var single = SIMD4<Double>.zero
    for y in lines {
      rows.withRow(y) { row in
        for x in columns {
          let pixel = row + 4 * x
          let alpha = rows.hasAlpha ? Double(pixel[3]) / 255 : 1
          let color = SIMD4(Double(light[Int(pixel[0])]), Double(light[Int(pixel[1])]), Double(light[Int(pixel[2])]), 1)
          sum += color * alpha
          single = SIMD4(Double(pixel[0]), Double(pixel[1]), Double(pixel[2]), alpha * 255) / 255
        }
      }
    }
    if columns.count == 1, lines.count == 1 { return single }
    guard sum[3] > 0 else { return .zero }
    let color = sum / sum[3]
    return SIMD4(encoded(color[0]), encoded(color[1]), encoded(color[2]), sum[3] / Double(columns.count * lines.count))
  }

  /// Returns the color of an amount of light, rounded to a byte. Faster than ``TransferCurve/encoded(_:)``.
  static func encoded(_ light: Double) -> Double {
    Double(TransferCurve.sRGB.byte(Float(min(max(light, 0), 1)))) / 255
  }

  /// Whether a pixel is not opaque.
  var hasAlpha: Bool { pixels.contains { $0[3] < 1 } }

  /// The pixels blended over the average color of the picture. The last component keeps the alpha of the pixel.
  var composed: [SIMD4<Double>] {
    var sum = SIMD4<Double>.zero
    for pixel in pixels { sum += SIMD4(pixel[0], pixel[1], pixel[2], 1) * pixel[3] }
    let average = sum[3] > 0 ? sum / sum[3] : .zero
    return pixels.map { pixel in
      var composed = average * (1 - pixel[3]) + pixel * pixel[3]
      composed[3] = pixel[3]
      return composed
    }
  }

  /// Draws the picture in a style, or unscaled for a style without a size. Throws `outOfMemory`.
  func bitmap(_ style: ImageStyle) throws -> Bitmap {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(pixels.count * 4)
    for pixel in pixels {
      for channel in 0..<4 { bytes.append(UInt8((min(max(pixel[channel], 0), 1) * 255).rounded())) }
    }
    let rows = PixelRows(
      bytes.span.bytes, width: size.width, height: size.height, bytesPerRow: size.width * 4, hasAlpha: hasAlpha)
    if style.size == nil { return try Bitmap(upright: rows, .upright) }
    return try StyleRenderer.bitmaps([StyleRenderer(style, picture: size)], rows)[0]
  }
}
