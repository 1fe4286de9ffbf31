import Vitrine

extension Bitmap {
  /// Creates the upright `BGRA8888` bitmap of a decoded picture, from which free forms are drawn. Each pixel is kept
  /// and none is mixed. Costs one pass over the pixels. Throws `tooLarge` above 65,535 pixels a side, and
  /// `outOfMemory`.
  init(upright rows: PixelRows, _ orientation: Orientation) throws {
    let size = orientation.applied(to: rows.size)
    guard let layout = BitmapLayout.drawable(width: size.width, height: size.height, format: .bgra8888) else {
      throw ImageError.tooLarge(width: size.width, height: size.height, limit: "65535 pixels a side")
    }
    let (width, hasAlpha) = (rows.width, rows.hasAlpha)
    let (start, step) = orientation.mirrorsColumns ? ((width - 1) * 4, -4) : (0, 4)
    try self.init(layout: layout) { memory in
      try PixelTarget.lend(&memory, layout) { target in
        let writer = try UprightWriter(target, orientation)
        for y in 0..<rows.height {
          rows.withRow(y) { source in
            writer.write(row: y) { pixels in
              var pixel = source + start
              for x in 0..<width {
                pixels[x] = CanonicalPixel.premultiplied(
                  red: UInt32(pixel[0]), green: UInt32(pixel[1]), blue: UInt32(pixel[2]),
                  alpha: hasAlpha ? UInt32(pixel[3]) : 255)
                pixel += step
              }
            }
          }
        }
      }
    }
  }
}
