/// The content type of a file: by its first bytes, or else by its name.
public enum ContentType {
  /// Returns nil if neither is known.
  public static func of(name: [UInt8], bytes: [UInt8]) -> String? {
    magic(bytes.prefix(32)) ?? byExtension(name)
  }

  private static let signatures: [(bytes: [UInt8], type: String)] = [
    ([0xFF, 0xD8, 0xFF], "image/jpeg"),
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
    (Array("GIF87a".utf8), "image/gif"),
    (Array("GIF89a".utf8), "image/gif"),
    ([0x49, 0x49, 0x2A, 0x00], "image/tiff"),
    ([0x4D, 0x4D, 0x00, 0x2A], "image/tiff"),
    ([0xFF, 0x0A], "image/jxl"),
    ([0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A], "image/jxl"),
  ]

  /// By the brand behind `ftyp`, in files of the ISO base media format.
  private static let brands = [
    "avif": "image/avif", "avis": "image/avif", "heic": "image/heic", "heix": "image/heic",
    "mif1": "image/heif",
  ]

  private static let extensions = [
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "heic": "image/heic", "heif": "image/heif", "jxl": "image/jxl", "tif": "image/tiff",
    "tiff": "image/tiff", "bmp": "image/bmp", "svg": "image/svg+xml", "ico": "image/vnd.microsoft.icon",
  ]

  private static func magic(_ head: ArraySlice<UInt8>) -> String? {
    if let match = signatures.first(where: { head.starts(with: $0.bytes) }) { return match.type }
    guard head.count >= 12 else { return nil }
    let start = head.startIndex
    let third = head[(start + 8)..<(start + 12)]
    if head.starts(with: "RIFF".utf8), third.elementsEqual("WEBP".utf8) { return "image/webp" }
    if head[(start + 4)..<(start + 8)].elementsEqual("ftyp".utf8) {
      return brands[String(decoding: third, as: UTF8.self)]
    }
    return nil
  }

  private static func byExtension(_ name: [UInt8]) -> String? {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    return extensions[String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()]
  }
}
