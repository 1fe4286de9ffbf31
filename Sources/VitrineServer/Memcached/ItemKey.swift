import Vitrine

/// Maps a memcached key to a key of the store.
///
/// A key is a URL in the style `original`. Text after the last `#` names another style:
/// `https://example.org/a.jpg#square-60`. If that text is empty, the style is `original`, so a URL with a fragment is
/// sent with a `#` at its end. If the text is not a valid style, it is part of the URL.
enum ItemKey {
  static let longest = 250

  /// Returns nil if the key is empty or longer than ``longest`` bytes. Unless `isEncoded`, also returns nil for spaces
  /// and control characters.
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
