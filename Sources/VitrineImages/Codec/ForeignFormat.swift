/// Names of unsupported formats, so that an error message names the kind of data that the server sent.
enum ForeignFormat {
  static func name(of bytes: PictureBytes) -> String {
    if bytes.count == 0 { return "no bytes" }
    return magic(bytes) ?? isoMedia(bytes) ?? text(bytes) ?? unknown(bytes)
  }

  private static func magic(_ bytes: PictureBytes) -> String? {
    let names: [(start: [UInt8], name: String)] = [
      (Array("GIF8".utf8), "GIF"), ([0x49, 0x49, 0x2A, 0x00], "TIFF"), ([0x4D, 0x4D, 0x00, 0x2A], "TIFF"),
      ([0x00, 0x00, 0x01, 0x00], "ICO"), (Array("8BPS".utf8), "Photoshop"), (Array("%PDF".utf8), "PDF"),
      ([0xFF, 0x0A], "JPEG XL"), (Array("\0\0\0\u{0C}JXL ".utf8), "JPEG XL"),
      (Array("\0\0\0\u{0C}jP  ".utf8), "JPEG 2000"), ([0xFF, 0x4F, 0xFF, 0x51], "JPEG 2000"),
      (Array("BM".utf8), "BMP"), (Array("qoif".utf8), "QOI"), ([0x1F, 0x8B], "gzip"), (Array("PK".utf8), "ZIP"),
    ]
    return names.first { bytes.begins($0.start) }?.name
  }

  /// Recognizes HEIF and related formats by a box `ftyp`, which is followed by a brand.
  private static func isoMedia(_ bytes: PictureBytes) -> String? {
    guard bytes.hasText("ftyp", at: 4), let brand = bytes.text(8..<12) else { return nil }
    switch brand {
    case "avif", "avis": return "AVIF"
    case "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1": return "HEIC"
    default: return "ISO media of the brand \(brand)"
    }
  }

  private static func text(_ bytes: PictureBytes) -> String? {
    var start = bytes.prefix(1024)
    if start.starts(with: [0xEF, 0xBB, 0xBF]) { start = start.dropFirst(3) }
    start = start.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard let first = start.first, start.allSatisfy({ $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }) else {
      return nil
    }
    let text = String(decoding: start, as: UTF8.self).lowercased()
    if first == UInt8(ascii: "<") {
      if text.contains("<svg") { return "SVG" }
      if text.hasPrefix("<!doctype html") || text.contains("<html") { return "HTML" }
      return text.hasPrefix("<?xml") ? "XML" : "text with tags"
    }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return "JSON" }
    return bytes.count < 8 ? nil : "text"
  }

  private static func unknown(_ bytes: PictureBytes) -> String {
    let digits = bytes.prefix(8).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return "\(bytes.count) bytes that begin with \(digits.joined(separator: " "))"
  }
}
