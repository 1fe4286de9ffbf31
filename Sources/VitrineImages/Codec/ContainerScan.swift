/// Reads the parts of a file that the libraries do not report: the orientation, and whether a PNG is animated.
///
/// Walks over the parts of the file by their lengths, and reads some bytes of each: O(parts). A truncated file or a
/// false length ends the walk, and the results so far count. The decoder then reports the damage.
struct ContainerScan {
  private(set) var orientation = Orientation.upright
  private(set) var isAnimated = false

  init(_ bytes: PictureBytes, _ format: ImageFormat) {
    switch format {
    case .jpeg: scanJPEG(bytes)
    case .png: scanPNG(bytes)
    case .webp: scanWebP(bytes)
    }
  }

  /// Walks over segments up to the first scan: FF, a marker, and a length that includes itself. EXIF is an APP1
  /// segment.
  private mutating func scanJPEG(_ bytes: PictureBytes) {
    var offset = 2
    while let byte = bytes[offset] {
      guard byte == 0xFF, let marker = bytes[offset + 1], marker != 0xFF, marker != 0 else {
        offset += 1  // libjpeg also skips fill bytes and garbage up to the next marker
        continue
      }
      offset += 2
      if marker == 0x01 || (0xD0...0xD8).contains(marker) { continue }
      guard marker != 0xDA, marker != 0xD9,
        let length = bytes.integer(at: offset, byteCount: 2, isLittleEndian: false), length >= 2
      else { return }
      if marker == 0xE1, bytes.hasText("Exif\0\0", at: offset + 2) {
        orientation = ExifOrientation.read(bytes.slice(offset + 8..<max(offset + 8, offset + length)))
        return
      }
      offset += length
    }
  }

  /// Walks over chunks: a length, a name, the content, a checksum. eXIf may follow the pixels; acTL precedes them.
  private mutating func scanPNG(_ bytes: PictureBytes) {
    var offset = 8
    var hasPixels = false
    while let length = bytes.integer(at: offset, byteCount: 4, isLittleEndian: false), length < 1 << 31 {
      let content = offset + 8
      if bytes.hasText("eXIf", at: offset + 4) {
        orientation = ExifOrientation.read(bytes.slice(content..<content + length))
      } else if bytes.hasText("acTL", at: offset + 4) {
        isAnimated = isAnimated || !hasPixels
      } else if bytes.hasText("IDAT", at: offset + 4) {
        hasPixels = true
      } else if bytes.hasText("IEND", at: offset + 4) {
        return
      }
      offset = content + length + 4
    }
  }

  /// Walks over RIFF chunks: a name, a length, the content, and a padding byte if the length is odd. Some writers put
  /// JPEG's prefix before the EXIF data.
  private mutating func scanWebP(_ bytes: PictureBytes) {
    var offset = 12
    while let length = bytes.integer(at: offset + 4, byteCount: 4, isLittleEndian: true) {
      let content = offset + 8
      if bytes.hasText("EXIF", at: offset) {
        let prefix = bytes.hasText("Exif\0\0", at: content) ? 6 : 0
        orientation = ExifOrientation.read(bytes.slice(content + prefix..<content + max(length, prefix)))
        return
      }
      if bytes.hasText("VP8X", at: offset), let flags = bytes[content] { isAnimated = flags & 2 != 0 }
      offset = content + length + length & 1
    }
  }
}
