import Vitrine

extension ImageDecoder {
  /// What `style` makes of the picture in `bytes`, which is decoded no larger than that takes. Throws ``ImageError``, and
  /// what free forms throw. Blocks the thread that calls it.
  package func rendered(_ bytes: RawSpan, _ style: ImageStyle) throws -> (bitmap: Bitmap, info: ImageInfo) {
    let info = try info(of: bytes)
    var size: PixelSize?
    if style.size != nil, info.size.width > 0, info.size.height > 0 {
      let renderer = try StyleRenderer(style, picture: info.size, orientation: info.orientation)
      size = info.orientation.applied(to: renderer.sufficientSize)
    }
    return (try decode(bytes, atLeast: size).rendered([style])[0], info)
  }
}

extension Bitmap {
  /// What a style with a size makes of these pixels. Takes four bytes for each of them meanwhile. Throws `outOfMemory`, and
  /// `invalidArgument` for a style that has no size.
  package func rendered(_ style: ImageStyle) throws -> Bitmap {
    let pixels = try StraightPixels(self)
    defer { withExtendedLifetime(pixels) {} }
    let rows = PixelRows(
      UnsafeRawBufferPointer(pixels.memory.bytes).bytes, width: width, height: height, bytesPerRow: width * 4,
      hasAlpha: pixels.hasAlpha)
    return try StyleRenderer.bitmaps([StyleRenderer(style, picture: size)], rows)[0]
  }
}
