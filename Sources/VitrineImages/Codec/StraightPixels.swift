import Vitrine

/// A bitmap in the form that encoders take: packed rows of red, green, blue and alpha, with straight alpha.
struct StraightPixels {
  let memory: PixelMemory
  let size: PixelSize
  /// Whether any pixel is not opaque.
  let hasAlpha: Bool

  /// Converts a bitmap. O(pixels). Throws `outOfMemory`.
  init(_ bitmap: Bitmap) throws(ImageError) {
    size = bitmap.size
    memory = try PixelMemory(byteCount: bitmap.width * bitmap.height * 4)
    let layout = bitmap.layout
    let target = memory.bytes
    let alphas = bitmap.withPixels { span in
      span.withUnsafeBytes { source in
        var alphas: UInt8 = 0xFF
        for y in 0..<layout.height {
          let row = UnsafeRawBufferPointer(rebasing: source[(y * layout.bytesPerRow)...].prefix(layout.bytesPerRow))
          let place = UnsafeMutableRawBufferPointer(
            rebasing: target[(y * layout.width * 4)...].prefix(layout.width * 4))
          alphas &= StraightPixels.convert(row, layout.format, layout.width, place)
        }
        return alphas
      }
    }
    hasAlpha = alphas != 0xFF
  }

  /// Converts one row. Returns the bitwise AND of its alphas.
  private static func convert(
    _ source: UnsafeRawBufferPointer, _ format: PixelFormat, _ width: Int, _ target: UnsafeMutableRawBufferPointer
  ) -> UInt8 {
    switch format {
    case .rgba8888: return straighten(source, width, target, red: 0, blue: 2)
    case .bgra8888: return straighten(source, width, target, red: 2, blue: 0)
    case .rgbx8888: reorder(source, width, target, red: 0, blue: 2)
    case .bgrx8888: reorder(source, width, target, red: 2, blue: 0)
    case .rgb565:
      for x in 0..<width {
        let word = Int(source[x * 2]) | Int(source[x * 2 + 1]) << 8
        let (red, green, blue) = (word >> 11, word >> 5 & 63, word & 31)
        put(red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2, 0xFF, target, x)
      }
    case .gray8:
      for x in 0..<width { put(Int(source[x]), Int(source[x]), Int(source[x]), 0xFF, target, x) }
    }
    return 0xFF
  }

  @inline(__always)
  private static func put(
    _ red: Int, _ green: Int, _ blue: Int, _ alpha: Int, _ target: UnsafeMutableRawBufferPointer, _ x: Int
  ) {
    target[x * 4] = UInt8(truncatingIfNeeded: red)
    target[x * 4 + 1] = UInt8(truncatingIfNeeded: green)
    target[x * 4 + 2] = UInt8(truncatingIfNeeded: blue)
    target[x * 4 + 3] = UInt8(truncatingIfNeeded: alpha)
  }

  private static func reorder(
    _ source: UnsafeRawBufferPointer, _ width: Int, _ target: UnsafeMutableRawBufferPointer, red: Int, blue: Int
  ) {
    for x in 0..<width {
      put(Int(source[x * 4 + red]), Int(source[x * 4 + 1]), Int(source[x * 4 + blue]), 0xFF, target, x)
    }
  }

  private static func straighten(
    _ source: UnsafeRawBufferPointer, _ width: Int, _ target: UnsafeMutableRawBufferPointer, red: Int, blue: Int
  ) -> UInt8 {
    var alphas: UInt8 = 0xFF
    for x in 0..<width {
      let alpha = Int(source[x * 4 + 3])
      alphas &= UInt8(truncatingIfNeeded: alpha)
      // Premultiplication never yields a color above its alpha, but the bytes of a caller may contain one.
      func straight(_ channel: Int) -> Int {
        let value = Int(source[x * 4 + channel])
        return alpha == 0xFF ? value : alpha == 0 ? 0 : min(255, (value * 255 + alpha / 2) / alpha)
      }
      put(straight(red), straight(1), straight(blue), alpha, target, x)
    }
    return alphas
  }
}
