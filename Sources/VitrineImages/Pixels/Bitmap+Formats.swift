import Vitrine

extension Bitmap {
  /// Returns the picture in another format, or this bitmap if it has that format. A format without alpha gets the
  /// picture on white; RGB565 is dithered. Costs one pass over the pixels. Throws `outOfMemory`, and `tooLarge` above
  /// 65,535 pixels a side.
  public func converted(to format: PixelFormat) throws -> Bitmap {
    if format == layout.format { return self }
    guard let target = BitmapLayout.drawable(width: width, height: height, format: format) else {
      throw ImageError.tooLarge(width: width, height: height, limit: "65535 pixels a side")
    }
    return try Bitmap(layout: target) { memory in try write(into: &memory, target) }
  }

  /// Writes the picture into memory for a bitmap of the same size, in the format of `target`.
  func write(into memory: inout MutableRawSpan, _ target: BitmapLayout) throws {
    precondition(target.width == width && target.height == height)
    let row = try PixelMemory(byteCount: width * 4)
    let pixels = row.bytes.baseAddress!.assumingMemoryBound(to: UInt32.self)
    let source = layout
    PixelTarget.lend(&memory, target) { target in
      withPixels { bytes in
        bytes.withUnsafeBytes { bytes in
          for y in 0..<source.height {
            source.format.unpack(bytes.baseAddress! + y * source.bytesPerRow, count: source.width, into: pixels)
            target.put(pixels, count: source.width, x: 0, y: y)
          }
        }
      }
    }
  }
}
