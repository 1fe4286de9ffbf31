import Vitrine

/// The key of a store that a memcached key names.
///
/// A key is a URL in the style `original`. Text behind the last `#` names another style: `https://example.org/a.jpg#square-60`.
/// If it is empty, the style is `original`, so a URL with a fragment is written with a `#` at its end.
enum ItemKey {
  static let longest = 250

  /// Returns nil if the key is empty or too long, has a control character, or names a style that cannot be.
  static func key(_ bytes: UnsafeRawBufferPointer, isEncoded: Bool = false) -> CacheKey? {
    guard (1...longest).contains(bytes.count) else { return nil }
    if !isEncoded, bytes.contains(where: { $0 < 0x21 || $0 == 0x7F }) { return nil }
    guard let hash = bytes.lastIndex(of: Byte.hash) else { return CacheKey(bytes: Array(bytes)) }
    let url = Array(bytes[..<hash])
    let name = bytes[(hash + 1)...]
    if name.isEmpty { return CacheKey(bytes: url) }
    return Style(String(decoding: name, as: UTF8.self)).map { CacheKey(bytes: url, $0) }
  }
}
