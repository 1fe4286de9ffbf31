import Foundation

/// The text of a URL as found in practice: with spaces or a byte order mark around it, half encoded, in any case.
package struct LoadURL {
  /// The scheme in lower case; empty for a relative reference.
  let scheme: String
  /// The bytes after the colon of the scheme, without the fragment.
  let rest: ArraySlice<UInt8>

  /// Removes spaces and control characters around the text, and tabs and line ends within it, as browsers do.
  init(_ text: some Sequence<UInt8>) {
    var bytes = text.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }[...]
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    while true {
      if let first = bytes.first, first <= 0x20 {
        bytes.removeFirst()
      } else if bytes.starts(with: mark) {
        bytes.removeFirst(mark.count)
      } else if let last = bytes.last, last <= 0x20 {
        bytes.removeLast()
      } else if bytes.suffix(3).elementsEqual(mark) {
        bytes.removeLast(mark.count)
      } else {
        break
      }
    }
    let scheme = LoadURL.scheme(bytes)
    self.scheme = scheme ?? ""
    if let scheme { bytes = bytes.dropFirst(scheme.utf8.count + 1) }
    // A `data:` URL also has a fragment.
    rest = bytes.prefix { $0 != UInt8(ascii: "#") }
  }

  /// Returns the text without spaces, control characters and byte order marks around it.
  package static func trimmed(_ text: String) -> String {
    let isExtra: (Unicode.Scalar) -> Bool = { $0.value <= 0x20 || $0.value == 0xFEFF }
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isExtra($0) }), let last = scalars.lastIndex(where: { !isExtra($0) })
    else { return "" }
    return String(scalars[first...last])
  }

  private static func scheme(_ bytes: ArraySlice<UInt8>) -> String? {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard let first = name.utf8.first, (97...122).contains(first) else { return nil }
    let isName = name.utf8.allSatisfy {
      (97...122).contains($0) || (48...57).contains($0) || [43, 45, 46].contains($0)
    }
    return isName ? name : nil
  }

  // MARK: Percent encoding

  /// Encodes all bytes that a path or a query must not contain. Encoded bytes stay as they are.
  static func encoded(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      if byte <= 0x20 || byte >= 0x7F || LoadURL.encodedASCII.contains(byte) {
        text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      } else {
        text.append(byte)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static let encodedASCII = Set("\"<>\\^`{|}#".utf8)

  /// Decodes `%41` and the like. A percent sign without two hexadecimal digits stays as it is.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var found: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2, let high = digit(rest[rest.startIndex]),
        let low = digit(rest[rest.startIndex + 1])
      {
        found.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        found.append(byte)
      }
    }
    return found
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }
}
