/// Writes pictures as QOI files ("Quite OK Image", https://qoiformat.org/qoi-specification.pdf): a real, lossless
/// format with a short encoder.
enum QOIPicture {
  /// `pixels`: rows from the top, three bytes (red, green, blue) for each pixel.
  static func encode(pixels: [UInt8], width: Int, height: Int) -> [UInt8] {
    precondition(pixels.count == width * height * 3)
    var file = Array("qoif".utf8)
    file.reserveCapacity(pixels.count + pixels.count / 3 + 22)
    for size in [width, height] {
      for shift in [24, 16, 8, 0] { file.append(UInt8(truncatingIfNeeded: size >> shift)) }
    }
    file.append(3)  // channels: RGB
    file.append(0)  // color space: sRGB

    // All 64 remembered pixels begin as transparent black, which no opaque pixel equals.
    var remembered = [UInt32](repeating: 0, count: 64)
    var previous: (r: UInt8, g: UInt8, b: UInt8) = (0, 0, 0)
    var run = 0
    for start in stride(from: 0, to: pixels.count, by: 3) {
      let (r, g, b) = (pixels[start], pixels[start + 1], pixels[start + 2])
      if (r, g, b) == previous {
        run += 1
        if run == 62 {
          file.append(0xC0 | 61)
          run = 0
        }
        continue
      }
      if run > 0 {
        file.append(0xC0 | UInt8(run - 1))
        run = 0
      }
      let packed = UInt32(r) << 24 | UInt32(g) << 16 | UInt32(b) << 8 | 0xFF
      let place = (Int(r) * 3 + Int(g) * 5 + Int(b) * 7 + 255 * 11) % 64
      let dr = Int(Int8(bitPattern: r &- previous.r))
      let dg = Int(Int8(bitPattern: g &- previous.g))
      let db = Int(Int8(bitPattern: b &- previous.b))
      if remembered[place] == packed {
        file.append(UInt8(place))
      } else if (-2...1).contains(dr) && (-2...1).contains(dg) && (-2...1).contains(db) {
        file.append(UInt8(0x40 | (dr + 2) << 4 | (dg + 2) << 2 | (db + 2)))
      } else if (-32...31).contains(dg) && (-8...7).contains(dr - dg) && (-8...7).contains(db - dg) {
        file.append(UInt8(0x80 | (dg + 32)))
        file.append(UInt8((dr - dg + 8) << 4 | (db - dg + 8)))
      } else {
        file += [0xFE, r, g, b]
      }
      remembered[place] = packed
      previous = (r, g, b)
    }
    if run > 0 { file.append(0xC0 | UInt8(run - 1)) }
    file += [0, 0, 0, 0, 0, 0, 0, 1]
    return file
  }
}
