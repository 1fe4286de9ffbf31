import Vitrine

extension PixelFormat {
  /// Writes pixels in the form of ``CanonicalPixel`` into a part of a row in this format. The part begins at `x` and
  /// `y` of the bitmap. Formats without alpha get the pixels on white.
  func pack(_ pixels: UnsafePointer<UInt32>, count: Int, x: Int, y: Int, into target: UnsafeMutableRawPointer) {
    switch self {
    case .bgra8888:
      target.copyMemory(from: pixels, byteCount: count * 4)
    case .rgba8888:
      for index in 0..<count {
        target.storeBytes(of: PixelFormat.exchanged(pixels[index]), toByteOffset: index * 4, as: UInt32.self)
      }
    case .bgrx8888:
      for index in 0..<count {
        target.storeBytes(of: CanonicalPixel.onWhite(pixels[index]), toByteOffset: index * 4, as: UInt32.self)
      }
    case .rgbx8888:
      for index in 0..<count {
        let pixel = PixelFormat.exchanged(CanonicalPixel.onWhite(pixels[index]))
        target.storeBytes(of: pixel, toByteOffset: index * 4, as: UInt32.self)
      }
    case .rgb565:
      let levels = FewLevels.shared
      for index in 0..<count {
        let pixel = levels.rgb565(CanonicalPixel.onWhite(pixels[index]), x: x + index, y: y)
        target.storeBytes(of: pixel, toByteOffset: index * 2, as: UInt16.self)
      }
    case .gray8:
      let curve = TransferCurve.sRGB
      for index in 0..<count {
        let gray = PixelFormat.gray(CanonicalPixel.onWhite(pixels[index]), curve)
        target.storeBytes(of: gray, toByteOffset: index, as: UInt8.self)
      }
    }
  }

  /// Returns the pixel with red and blue exchanged.
  @inline(__always)
  private static func exchanged(_ pixel: UInt32) -> UInt32 {
    pixel & 0xFF00_FF00 | (pixel & 0xFF) << 16 | (pixel >> 16) & 0xFF
  }

  /// Returns the gray of equal brightness. Brightness is a sum of light (the Y of CIE, with sRGB's primaries). A
  /// weighted sum of the encoded bytes, as in television, makes saturated colors too dark, blue by more than half.
  @inline(__always)
  private static func gray(_ pixel: UInt32, _ curve: TransferCurve) -> UInt8 {
    let red = curve.light[Int(pixel >> 16 & 0xFF)]
    let green = curve.light[Int(pixel >> 8 & 0xFF)]
    let blue = curve.light[Int(pixel & 0xFF)]
    return UInt8(truncatingIfNeeded: curve.byte(min(0.2126 * red + 0.7152 * green + 0.0722 * blue, 1)))
  }

  /// Reads a row in this format: the inverse of ``pack(_:count:x:y:into:)``.
  func unpack(_ source: UnsafeRawPointer, count: Int, into pixels: UnsafeMutablePointer<UInt32>) {
    switch self {
    case .bgra8888:
      UnsafeMutableRawPointer(pixels).copyMemory(from: source, byteCount: count * 4)
    case .rgba8888:
      for x in 0..<count {
        pixels[x] = PixelFormat.exchanged(source.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self))
      }
    case .bgrx8888:
      for x in 0..<count {
        pixels[x] = 0xFF00_0000 | source.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self)
      }
    case .rgbx8888:
      for x in 0..<count {
        let pixel = source.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self)
        pixels[x] = 0xFF00_0000 | PixelFormat.exchanged(pixel)
      }
    case .rgb565:
      for x in 0..<count {
        pixels[x] = FewLevels.canonical(source.loadUnaligned(fromByteOffset: x * 2, as: UInt16.self))
      }
    case .gray8:
      for x in 0..<count {
        pixels[x] = 0xFF00_0000 | UInt32(source.load(fromByteOffset: x, as: UInt8.self)) * 0x01_0101
      }
    }
  }
}
