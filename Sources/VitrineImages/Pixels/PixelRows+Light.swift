extension PixelRows {
  /// Reads the light of a part of row `y`, multiplied by alpha, into the same columns of `line`, which is at least as
  /// wide.
  ///
  /// The multiplication comes before any mixing, so the color of transparent pixels, which may be any, has no effect.
  func readLight(row y: Int, columns: Range<Int>, into line: LinearLines) {
    precondition(columns.lowerBound >= 0 && columns.upperBound <= min(width, line.width))
    let light = TransferCurve.sRGB.light
    let target = line.pixels
    withRow(y) { source in
      if hasAlpha {
        for x in columns {
          let pixel = source + 4 * x
          let color = SIMD4(light[Int(pixel[0])], light[Int(pixel[1])], light[Int(pixel[2])], 1)
          target[x] = pixel[3] == 255 ? color : color * (Float(pixel[3]) * (1 / 255))
        }
      } else {
        for x in columns {
          let pixel = source + 4 * x
          target[x] = SIMD4(light[Int(pixel[0])], light[Int(pixel[1])], light[Int(pixel[2])], 1)
        }
      }
    }
  }
}
