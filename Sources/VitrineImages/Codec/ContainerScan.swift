/// Reads the parts of a file that the libraries do not report: the orientation, and whether a PNG is animated.
///
/// Walks over the parts of the file by their lengths, and reads some bytes of each: O(parts). A truncated file or a
/// wrong length ends the walk, and the results so far count. The decoder then reports the damage.
struct ContainerScan {
  /// The orientation of EXIF, or of XMP if EXIF has none.
  var orientation: Orientation { exif ?? xmp ?? .upright }
  private(set) var isAnimated = false
  private var exif: Orientation?
  private var xmp: Orientation?

  init(_ bytes: PictureBytes, _ format: ImageFormat) {
    switch format {
    case .jpeg: scanJPEG(bytes)
    case .png: scanPNG(bytes)
    case .webp: scanWebP(bytes)
    default: break
    }
  }

  /// Walks over segments up to the first scan: FF, a marker, and a length that includes itself. EXIF and XMP are APP1
  /// segments.
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
      if marker == 0xE1, exif == nil, bytes.hasText("Exif\0\0", at: offset + 2) {
        exif = ExifOrientation.read(bytes.slice(offset + 8..<max(offset + 8, offset + length)))
        if exif != nil { return }
      } else if marker == 0xE1, xmp == nil, bytes.hasText(ContainerScan.packetName, at: offset + 2) {
        let start = offset + 2 + ContainerScan.packetName.utf8.count
        xmp = XMPOrientation.read(bytes.slice(start..<max(start, offset + length)))
      }
      offset += length
    }
  }

  private static let packetName = "http://ns.adobe.com/xap/1.0/\0"
  /// The keyword, and four zero bytes. They mean that the text is not compressed, and has no language and no translated
  /// keyword. XMP in compressed text is not read.
  private static let pngPacketName = "XML:com.adobe.xmp\0\0\0\0\0"

  /// Walks over chunks: a length, a name, the content, a checksum. eXIf and iTXt may follow the pixels; acTL precedes
  /// them.
  private mutating func scanPNG(_ bytes: PictureBytes) {
    var offset = 8
    var hasPixels = false
    while let length = bytes.integer(at: offset, byteCount: 4, isLittleEndian: false), length < 1 << 31 {
      let content = offset + 8
      if bytes.hasText("eXIf", at: offset + 4) {
        exif = exif ?? ExifOrientation.read(bytes.slice(content..<content + length))
      } else if bytes.hasText("iTXt", at: offset + 4), bytes.hasText(ContainerScan.pngPacketName, at: content) {
        xmp = xmp ?? XMPOrientation.read(bytes.slice(content..<content + length))
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
        exif = exif ?? ExifOrientation.read(bytes.slice(content + prefix..<content + max(length, prefix)))
      } else if bytes.hasText("XMP ", at: offset) {
        xmp = xmp ?? XMPOrientation.read(bytes.slice(content..<content + length))
      }
      if bytes.hasText("VP8X", at: offset), let flags = bytes[content] { isAnimated = flags & 2 != 0 }
      offset = content + length + length & 1
    }
  }
}
