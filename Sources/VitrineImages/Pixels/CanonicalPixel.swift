/// A pixel in the common form before it is written in a bitmap's format: `0xAARRGGBB`, sRGB, with the encoded colors,
/// not their light, multiplied by alpha. CoreGraphics and GPUs expect this when they blend. In the memory of
/// little-endian machines it is `BGRA8888`.
enum CanonicalPixel {
  /// Returns `value * factor / 255`, rounded to nearest, for bytes.
  @inline(__always)
  static func product(_ value: UInt32, _ factor: UInt32) -> UInt32 {
    let product = value &* factor &+ 128
    return (product &+ (product >> 8)) >> 8
  }

  /// Returns the pixel of straight bytes.
  @inline(__always)
  static func premultiplied(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32) -> UInt32 {
    alpha == 255
      ? 0xFF00_0000 | red << 16 | green << 8 | blue
      : alpha << 24 | product(red, alpha) << 16 | product(green, alpha) << 8 | product(blue, alpha)
  }

  /// Returns the pixel on white, blended in encoded values as on a screen. Colors above alpha, which only manual
  /// drawing can produce, become white.
  @inline(__always)
  static func onWhite(_ pixel: UInt32) -> UInt32 {
    let alpha = pixel >> 24
    if alpha == 255 { return pixel }
    let white = 255 &- alpha
    let red = min((pixel >> 16 & 0xFF) &+ white, 255)
    let green = min((pixel >> 8 & 0xFF) &+ white, 255)
    let blue = min((pixel & 0xFF) &+ white, 255)
    return 0xFF00_0000 | red << 16 | green << 8 | blue
  }

  /// Encodes a line of light, multiplied by alpha, as the sampler makes it. `coverage` is the part of each pixel
  /// inside the style's shape, 0 to 1, or nil if all are inside.
  ///
  /// The color is rounded to a byte before it is multiplied. So a picture at scale 1 keeps its exact bytes, and flat
  /// areas stay flat.
  static func encode(
    _ line: UnsafePointer<SIMD4<Float>>, coverage: UnsafePointer<Float>?, count: Int,
    into target: UnsafeMutablePointer<UInt32>
  ) {
    let curve = TransferCurve.sRGB
    for x in 0..<count {
      var light = line[x]
      // A kernel with negative weights may leave 0...1.
      let opacity = min(max(light.w, 0), 1)
      let alpha = UInt32(opacity * 255 * (coverage?[x] ?? 1) + 0.5)
      guard alpha > 0 else {
        target[x] = 0
        continue
      }
      // Divides by the unclamped alpha, because an overshoot at an edge of the opaque part affects color and alpha
      // equally.
      if abs(light.w - 1) > 1e-4 { light *= 1 / light.w }
      light.replace(with: 0, where: light .< 0)
      light.replace(with: 1, where: light .> 1)
      target[x] = CanonicalPixel.premultiplied(
        red: curve.byte(light.x), green: curve.byte(light.y), blue: curve.byte(light.z), alpha: alpha)
    }
  }
}
