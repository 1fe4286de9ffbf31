/// A pixel on its way into a bitmap, whatever the bitmap's format: `0xAARRGGBB`, sRGB, the colours multiplied by alpha as
/// they are encoded, not as light. That is what CoreGraphics and GPUs take for granted when they blend. In memory, on the
/// little-endian machines that there are, it is `BGRA8888`.
enum CanonicalPixel {
  /// `value * factor / 255`, to the nearest, for bytes.
  @inline(__always)
  static func product(_ value: UInt32, _ factor: UInt32) -> UInt32 {
    let product = value &* factor &+ 128
    return (product &+ (product >> 8)) >> 8
  }

  /// Of straight bytes.
  @inline(__always)
  static func premultiplied(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32) -> UInt32 {
    alpha == 255
      ? 0xFF00_0000 | red << 16 | green << 8 | blue
      : alpha << 24 | product(red, alpha) << 16 | product(green, alpha) << 8 | product(blue, alpha)
  }

  /// Lying on white, as it would look there: blended as it is encoded, like everything that is blended on a screen.
  /// Colours above alpha, which only whoever draws by hand can make, end as white.
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

  /// A line of light, multiplied by alpha, as the sampler makes it; `coverage` is the part of each pixel that is inside of
  /// the style's shape, 0 to 1, nil where all are whole.
  ///
  /// The colour is rounded to a byte before it is multiplied: at a scale of 1 that gives the very bytes of a picture that
  /// is not scaled at all, and what is flat stays flat.
  static func encode(
    _ line: UnsafePointer<SIMD4<Float>>, coverage: UnsafePointer<Float>?, count: Int,
    into target: UnsafeMutablePointer<UInt32>
  ) {
    let curve = TransferCurve.sRGB
    for x in 0..<count {
      var light = line[x]
      // A kernel with negative parts may leave 0...1.
      let opacity = min(max(light.w, 0), 1)
      let alpha = UInt32(opacity * 255 * (coverage?[x] ?? 1) + 0.5)
      guard alpha > 0 else {
        target[x] = 0
        continue
      }
      // Divided by alpha as it is, unclamped, an overshoot at an edge of the opaque part takes colour and alpha alike.
      if abs(light.w - 1) > 1e-4 { light *= 1 / light.w }
      light.replace(with: 0, where: light .< 0)
      light.replace(with: 1, where: light .> 1)
      target[x] = CanonicalPixel.premultiplied(
        red: curve.byte(light.x), green: curve.byte(light.y), blue: curve.byte(light.z), alpha: alpha)
    }
  }
}
