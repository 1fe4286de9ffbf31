import Vitrine

/// The key of a store that a memcached key names.
///
/// A key is a URL in the style `original`. Text behind the last `#` names another style: `https://example.org/a.jpg#square-60`.
/// If it is empty, the style is `original`, so a URL with a fragment is written with a `#` at its end. If it can be no style, it
/// belongs to the URL.
enum ItemKey {
  static let longest = 250

  /// Returns nil if the key is empty or too long, or has a blank or a control character and is not encoded.
  static func key(_ bytes: UnsafeRawBufferPointer, isEncoded: Bool = false) -> CacheKey? {
    guard (1...longest).contains(bytes.count) else { return nil }
    if !isEncoded, bytes.contains(where: { $0 < 0x21 || $0 == 0x7F }) { return nil }
    guard let hash = bytes.lastIndex(of: Byte.hash) else { return CacheKey(bytes: Array(bytes)) }
    let url = Array(bytes[..<hash])
    let name = bytes[(hash + 1)...]
    if name.isEmpty { return CacheKey(bytes: url) }
    guard let style = Style(String(decoding: name, as: UTF8.self)) else { return CacheKey(bytes: Array(bytes)) }
    return CacheKey(bytes: url, style)
  }
}
