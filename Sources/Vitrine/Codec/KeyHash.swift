/// The hash of a key in the index: 64 bits. The upper 48 bits come from the URL alone, so that all styles of a URL are
/// adjacent. The lower 16 bits come from the style.
package struct KeyHash: Hashable, Sendable {
  package let bits: UInt64
  @inline(__always) package init(bits: UInt64) { self.bits = bits }
  @inline(__always) package init(url: UInt64, styleTag: UInt16) { bits = url & ~0xFFFF | UInt64(styleTag) }

  @inline(__always) var shard: Int { Int(bits >> 58) }
  @inline(__always) var urlTag: UInt32 { UInt32(truncatingIfNeeded: bits >> 26) }
  /// The bits that come from the URL.
  var urlBits: UInt64 { bits & ~0xFFFF }
  @inline(__always) var styleTag: UInt16 { UInt16(truncatingIfNeeded: bits) }
  /// The bits that decide shard and URL tag. The index does not separate URLs that share them.
  var ofURL: KeyHash { KeyHash(bits: bits & (~0 << 26)) }
  /// The hash as the index keeps it: without the ten bits between the URL's tag and the style's.
  @inline(__always) package var stored: KeyHash { KeyHash(bits: bits & ~(0x3FF << 16)) }
}
