/// A decoded picture as the renderer takes it: RGBA, 8 bits each, sRGB, alpha not multiplied in, rows from top to bottom
/// as the file has them: its EXIF orientation is not yet applied. Lent: it does not outlive the memory it lies in.
///
/// Invariant: each of the `height` rows has `width * 4` bytes inside of `bytes`.
struct PixelRows: ~Escapable {
  let bytes: RawSpan
  /// Pixels.
  let width: Int
  /// Pixels.
  let height: Int
  /// Bytes from one row's start to the next one's.
  let bytesPerRow: Int
  /// False where the fourth byte of each pixel means nothing.
  let hasAlpha: Bool

  /// The memory has to hold what the numbers say, which is for the decoder to see to.
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, width: Int, height: Int, bytesPerRow: Int, hasAlpha: Bool) {
    precondition(width > 0 && height > 0 && bytesPerRow >= width * 4)
    precondition(bytes.byteCount >= (height - 1) * bytesPerRow + width * 4)
    self.bytes = bytes
    self.width = width
    self.height = height
    self.bytesPerRow = bytesPerRow
    self.hasAlpha = hasAlpha
  }

  var size: PixelSize { PixelSize(width: width, height: height) }

  /// The bytes of a row, four for each pixel.
  @inline(__always)
  func withRow<R>(_ y: Int, _ body: (UnsafePointer<UInt8>) -> R) -> R {
    precondition(y >= 0 && y < height)
    return bytes.withUnsafeBytes { buffer in
      body((buffer.baseAddress! + y * bytesPerRow).assumingMemoryBound(to: UInt8.self))
    }
  }
}
