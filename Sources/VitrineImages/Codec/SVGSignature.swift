/// Recognizes SVG by its first element. A byte order mark, blanks, an XML declaration, other instructions, comments and a
/// document type may precede it. Reads at most 64 KiB.
struct SVGSignature {
  private static let longest = 64 << 10

  private let bytes: PictureBytes
  private var offset = 0

  static func isSVG(_ bytes: PictureBytes) -> Bool {
    guard let first = bytes[0], first == UInt8(ascii: "<") || first == 0xEF || isBlank(first) else { return false }
    var signature = SVGSignature(bytes: bytes.slice(0..<longest))
    return signature.findsSVG()
  }

  private init(bytes: PictureBytes) { self.bytes = bytes }

  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  private mutating func findsSVG() -> Bool {
    if bytes.begins([0xEF, 0xBB, 0xBF]) { offset = 3 }
    while true {
      while let byte = bytes[offset], SVGSignature.isBlank(byte) { offset += 1 }
      if bytes.hasText("<?", at: offset) {
        guard skip(past: "?>") else { return false }
      } else if bytes.hasText("<!--", at: offset) {
        guard skip(past: "-->") else { return false }
      } else if bytes.hasText("<!DOCTYPE", at: offset) {
        guard skipDocumentType() else { return false }
      } else {
        return isAtElement
      }
    }
  }

  private mutating func skip(past end: String) -> Bool {
    offset += 2
    while let found = bytes.offset(of: end.utf8.first ?? 0, from: offset) {
      if bytes.hasText(end, at: found) {
        offset = found + end.utf8.count
        return true
      }
      offset = found + 1
    }
    return false
  }

  /// A document type may have declarations in brackets, and these may have texts in quotes.
  private mutating func skipDocumentType() -> Bool {
    var isInBrackets = false
    var quote: UInt8?
    while let byte = bytes[offset] {
      offset += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: "["): isInBrackets = true
        case UInt8(ascii: "]"): isInBrackets = false
        case UInt8(ascii: ">") where !isInBrackets: return true
        default: break
        }
      }
    }
    return false
  }

  /// Whether an element `svg` begins here, with or without the prefix of a namespace.
  private var isAtElement: Bool {
    guard bytes[offset] == UInt8(ascii: "<") else { return false }
    var name: [UInt8] = []
    var end = offset + 1
    while let byte = bytes[end], name.count < 64 {
      if SVGSignature.isBlank(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") { break }
      name.append(byte)
      end += 1
    }
    return bytes[end] != nil && name.split(separator: UInt8(ascii: ":")).last.map(Array.init) == Array("svg".utf8)
  }
}
