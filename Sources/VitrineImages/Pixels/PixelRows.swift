/// A decoded picture in the renderer's input form: RGBA, 8 bits each, sRGB, alpha not multiplied in, rows from top to
/// bottom as in the file. Its EXIF orientation is not applied. It cannot outlive its memory.
///
/// Invariant: each of the `height` rows has `width * 4` bytes inside `bytes`.
struct PixelRows: ~Escapable {
  let bytes: RawSpan
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int
  /// The bytes from the start of one row to the next.
  let bytesPerRow: Int
  /// Whether the fourth byte of a pixel is its alpha; otherwise it has no meaning.
  let hasAlpha: Bool

  /// The decoder must pass numbers that fit the memory; a precondition checks them.
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

  /// Calls `body` with the bytes of a row, four for each pixel.
  @inline(__always)
  func withRow<R>(_ y: Int, _ body: (UnsafePointer<UInt8>) -> R) -> R {
    precondition(y >= 0 && y < height)
    return bytes.withUnsafeBytes { buffer in
      body((buffer.baseAddress! + y * bytesPerRow).assumingMemoryBound(to: UInt8.self))
    }
  }
}
