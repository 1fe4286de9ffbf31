/// Decodes Base64 (RFC 4648, section 4), for keys with bytes that a request line cannot contain, and for passwords of
/// HTTP.
enum Base64 {
  /// Returns nil if the text is not the encoding of one byte or more.
  static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard text.count >= 4, text.count % 4 == 0 else { return nil }
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    guard padding < 2 || text[text.count - 2] == UInt8(ascii: "=") else { return nil }
    var bytes: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    for (index, letter) in text.enumerated() {
      if index >= text.count - padding { break }
      guard let value = value(letter) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes.isEmpty ? nil : bytes
  }

  private static func value(_ letter: UInt8) -> UInt32? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
