import Vitrine

extension Bitmap {
  /// The same picture in another format; itself where it is in that format already. To a format without alpha it comes as
  /// it looks on white; to RGB565 it is dithered. Costs a pass over the pixels. Throws `outOfMemory`.
  public func converted(to format: PixelFormat) throws -> Bitmap {
    if format == layout.format { return self }
    guard let target = BitmapLayout.drawable(width: width, height: height, format: format) else {
      throw ImageError.tooLarge(width: width, height: height, limit: "65535 pixels a side")
    }
    return try Bitmap(layout: target) { memory in try write(into: &memory, target) }
  }

  /// Writes the picture into memory for a bitmap of the same size, in that one's format.
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
