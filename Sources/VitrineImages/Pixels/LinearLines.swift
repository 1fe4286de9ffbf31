/// A few lines of pixels in linear light: red, green, blue, each multiplied by the fourth, alpha.
///
/// Invariant: `pixels` holds `count` lines of `width` pixels, zeroed at first, and is freed with the last reference. One
/// drawing's own, so of one thread.
final class LinearLines {
  let width: Int
  let count: Int
  private let memory: PixelMemory

  /// Throws `outOfMemory`.
  init(width: Int, count: Int) throws(ImageError) {
    let (pixels, overflows) = width.multipliedReportingOverflow(by: count)
    guard !overflows, pixels <= Int.max / 16 else { throw .outOfMemory(byteCount: .max) }
    self.width = width
    self.count = count
    memory = try PixelMemory(byteCount: pixels * 16)
  }

  /// Valid as long as the lines are.
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
