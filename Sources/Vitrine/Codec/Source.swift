/// The origin of an entry: 1 to 16 bytes, such as the digest of an original or the version of a recipe.
public struct Source: Sendable, Hashable {
  /// The bytes are two little-endian numbers, filled up with zeros.
  let low: UInt64
  let high: UInt64
  let byteCount: UInt8

  /// Creates a source. Returns nil unless there are 1 to 16 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard (1...16).contains(bytes.count) else { return nil }
    var words: (low: UInt64, high: UInt64) = (0, 0)
    for (index, byte) in bytes.enumerated() {
      if index < 8 {
        words.low |= UInt64(byte) << (8 * index)
      } else {
        words.high |= UInt64(byte) << (8 * (index - 8))
      }
    }
    self.init(low: words.low, high: words.high, byteCount: UInt8(bytes.count))
  }

  /// The default source of an entry: `digest` is that of its URL's original.
  public init(_ digest: Digest) { self.init(low: digest.low, high: digest.high, byteCount: 16) }

  @inline(__always)
  init(low: UInt64, high: UInt64, byteCount: UInt8) {
    self.low = low
    self.high = high
    self.byteCount = byteCount
  }

  /// The bytes of the source, 16 at most. O(1); makes an array.
  public var bytes: [UInt8] {
    (0..<Int(byteCount)).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> (8 * ($0 & 7))) }
  }
}

/// The source that a put gives its entry.
public enum SourceOption: Sendable, Hashable {
  /// The digest of the URL's original at the time of the put; none without an original, and for the original itself. A
  /// put of an original with another digest removes the entry.
  case automatic
  /// No source. A get that names a source misses the entry.
  case none
  /// The caller's own. Changes of the original do not remove the entry; a get that names another source does.
  case named(Source)
}
