/// The second half of a key: a short canonical text such as `original` or `square-60@2x`.
///
/// 1 to 255 bytes of printable ASCII without spaces. Make a style once and keep it: making it includes the checks and
/// the hash that each lookup needs.
public struct Style: Sendable {
  /// The text: 1 to 255 bytes of printable ASCII without spaces.
  public let name: String
  let bytes: [UInt8]
  let tag: UInt16

  /// Creates a style. Returns nil if `name` is empty, longer than 255 bytes, or has a byte outside `!` to `~`.
  public init?(_ name: String) {
    let bytes = Array(name.utf8)
    guard Style.isValid(bytes) else { return nil }
    self.init(valid: bytes, name: name)
  }

  init(valid bytes: [UInt8], name: String) {
    self.name = name
    self.bytes = bytes
    tag = Style.tag(of: bytes)
  }

  static func tag(of bytes: [UInt8]) -> UInt16 {
    bytes.withUnsafeBytes { UInt16(truncatingIfNeeded: Checksum.of($0, seed: tagSeed)) }
  }

  /// Returns a second hash of a style, 1 to 7, from bits that the tag does not use.
  static func mark(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    1 + (Checksum.of(bytes, seed: tagSeed) >> 16 & 0xFFFF) % 7
  }

  private static let tagSeed: UInt64 = 0x5354_594C

  static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
    (1...255).contains(bytes.count) && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  @inline(__always)
  static func isOriginal(_ bytes: UnsafeRawBufferPointer, tag: UInt16) -> Bool {
    tag == original.tag && bytes.count == 8
      && original.bytes.withUnsafeBytes { equalBytes($0.baseAddress!, bytes) }
  }

  /// The unchanged image.
  public static let original = Style("original")!
}

extension Style: Hashable, Comparable, CustomStringConvertible {
  public static func == (a: Style, b: Style) -> Bool { a.bytes == b.bytes }
  public static func < (a: Style, b: Style) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
  public var description: String { name }
}

/// A whole key, for batches and enumerations. Calls that take the URL and the style apart need no copy of the URL.
public struct CacheKey: Sendable, Hashable {
  /// 0 to 65,536 bytes, never parsed.
  public var url: [UInt8]
  /// The form of the image.
  public var style: Style

  /// Makes a key of a URL as text. Copies its UTF-8 bytes. A put with a URL above 65,536 bytes throws
  /// `invalidArgument`; a get is a miss.
  public init(_ url: String, _ style: Style = .original) {
    self.init(bytes: Array(url.utf8), style)
  }

  /// Makes a key of a URL as bytes, which need not be UTF-8. A put with a URL above 65,536 bytes throws
  /// `invalidArgument`; a get is a miss.
  public init(bytes: [UInt8], _ style: Style = .original) {
    url = bytes
    self.style = style
  }

  /// The URL as text, with bytes that are not UTF-8 replaced.
  public var urlText: String { String(decoding: url, as: UTF8.self) }
}

extension CacheKey: ExpressibleByStringLiteral {
  /// Makes a key of a literal URL, in the style `original`.
  public init(stringLiteral url: String) { self.init(url) }
}

extension CacheKey: Comparable {
  /// Orders by URL, byte for byte, then by style, as `CacheStore.keysInOrder(prefix:)`.
  public static func < (a: CacheKey, b: CacheKey) -> Bool {
    a.url == b.url ? a.style < b.style : a.url.lexicographicallyPrecedes(b.url)
  }
}
