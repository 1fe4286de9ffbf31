import Vitrine

extension ImageDecoder {
  /// Returns the picture in `bytes` drawn in `style`, with the description of its source. Decodes it no larger than
  /// the style needs. Throws ``ImageError``, and errors of free forms. Blocks the calling thread.
  package func rendered(_ bytes: RawSpan, _ style: ImageStyle) throws -> (bitmap: Bitmap, info: ImageInfo) {
    let info = try info(of: bytes)
    var size: PixelSize?
    if style.size != nil, info.size.width > 0, info.size.height > 0 {
      let renderer = try StyleRenderer(style, info, orientation: info.orientation)
      size = info.orientation.applied(to: renderer.sufficientSize)
    }
    return (try decode(bytes, atLeast: size).rendered([style])[0], info)
  }
}

extension Bitmap {
  /// Returns these pixels drawn in a style that has a size. Needs 4 bytes of temporary memory for each pixel. Throws
  /// `outOfMemory`, and `invalidArgument` for a style without a size.
  package func rendered(_ style: ImageStyle) throws -> Bitmap {
    let pixels = try StraightPixels(self)
    defer { withExtendedLifetime(pixels) {} }
    let rows = PixelRows(
      UnsafeRawBufferPointer(pixels.memory.bytes).bytes, width: width, height: height, bytesPerRow: width * 4,
      hasAlpha: pixels.hasAlpha)
    return try StyleRenderer.bitmaps([StyleRenderer(style, picture: size)], rows)[0]
  }
}
