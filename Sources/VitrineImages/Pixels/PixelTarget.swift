import Vitrine

/// The memory of a bitmap during its drawing. Valid only inside the closure that receives it.
///
/// Invariant: only this drawing accesses the `layout.byteCount` bytes from `start` on, from one thread.
struct PixelTarget {
  let layout: BitmapLayout
  private let start: UnsafeMutableRawPointer

  /// Calls `body` with the first `layout.byteCount` bytes of `memory`, which must have at least as many.
  static func lend<R>(
    _ memory: inout MutableRawSpan, _ layout: BitmapLayout, _ body: (PixelTarget) throws -> R
  ) rethrows -> R {
    try memory.withUnsafeMutableBytes { bytes in
      precondition(bytes.count >= layout.byteCount)
      return try body(PixelTarget(layout: layout, start: bytes.baseAddress!))
    }
  }

  /// Writes a part of row `y`, beginning at column `x`.
  @inline(__always)
  func put(_ pixels: UnsafePointer<UInt32>, count: Int, x: Int, y: Int) {
    precondition(x >= 0 && count >= 0 && x + count <= layout.width && y >= 0 && y < layout.height)
    layout.format.pack(
      pixels, count: count, x: x, y: y,
      into: start + (y * layout.bytesPerRow + x * layout.format.bytesPerPixel))
  }
}
