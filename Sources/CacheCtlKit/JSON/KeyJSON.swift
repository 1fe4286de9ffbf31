import Vitrine

extension JSON {
  /// Returns the members for a URL: `url`, and if it is not UTF-8 also `url_base64` with its bytes; `url` then has
  /// U+FFFD for invalid bytes.
  public static func members(url: [UInt8]) -> [(String, JSON)] {
    if let text = String(validating: url, as: UTF8.self) { return [("url", .string(text))] }
    return [("url", .string(String(decoding: url, as: UTF8.self))), ("url_base64", .string(base64(url)))]
  }

  /// Returns the members for a key; both null if it is not known.
  public static func members(key: CacheKey?) -> [(String, JSON)] {
    guard let key else { return [("url", .null), ("style", .null)] }
    return members(url: key.url) + [("style", .string(key.style.name))]
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        let isPadding = place > group.count
        text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
