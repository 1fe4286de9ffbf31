/// What stands beside the pixels in a file and the libraries do not tell: orientation, and whether a PNG moves.
///
/// Walks over the parts of a file by their lengths, and reads a few bytes of each; O(parts). A file that breaks off or
/// lies about a length ends the walk, and what was found until then counts: the decoder will say what is wrong.
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

  /// Segments up to the first scan: FF, a marker, and a length that counts itself. EXIF is an APP1 of its own.
  private mutating func scanJPEG(_ bytes: PictureBytes) {
    var offset = 2
    while let byte = bytes[offset] {
      guard byte == 0xFF, let marker = bytes[offset + 1], marker != 0xFF, marker != 0 else {
        offset += 1  // libjpeg, too, looks for the next marker behind filling bytes and garbage
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

  /// Chunks: a length, a name, so many bytes, a checksum. eXIf may stand behind the pixels; acTL stands before them.
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

  /// RIFF chunks: a name, a length, so many bytes and one more where they are odd. Some writers put JPEG's prefix before
  /// the EXIF.
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
