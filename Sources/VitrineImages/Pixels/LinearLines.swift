/// Lines of pixels in linear light: red, green and blue, each multiplied by the fourth value, alpha.
///
/// Invariant: `pixels` holds `count` lines of `width` pixels, initially zero, and is freed with the last reference. It
/// belongs to one drawing, so to one thread.
final class LinearLines {
  let width: Int
  let count: Int
  private let memory: PixelMemory

  /// Allocates the lines. Throws `outOfMemory`.
  init(width: Int, count: Int) throws(ImageError) {
    let (pixels, overflows) = width.multipliedReportingOverflow(by: count)
    guard !overflows, pixels <= Int.max / 16 else { throw .outOfMemory(byteCount: .max) }
    self.width = width
    self.count = count
    memory = try PixelMemory(byteCount: pixels * 16)
  }

  /// The first pixel. Valid while this object is referenced.
  @inline(__always)
  var pixels: UnsafeMutablePointer<SIMD4<Float>> {
    memory.bytes.baseAddress!.assumingMemoryBound(to: SIMD4<Float>.self)
  }

  @inline(__always)
  func line(_ index: Int) -> UnsafeMutablePointer<SIMD4<Float>> {
    precondition(index >= 0 && index < count)
    return pixels + index * width
  }
}
