/// The hash of a key in the index: 64 bits. The upper 48 come from the URL's hash alone, so that all styles of a
/// URL are adjacent; the lower 16 from the style.
package struct KeyHash: Hashable, Sendable {
  package let bits: UInt64
  @inline(__always) package init(bits: UInt64) { self.bits = bits }
  @inline(__always) package init(url: UInt64, styleTag: UInt16) { bits = url & ~0xFFFF | UInt64(styleTag) }

  @inline(__always) var shard: Int { Int(bits >> 58) }
  @inline(__always) var urlTag: UInt32 { UInt32(truncatingIfNeeded: bits >> 26) }
  /// The bits that come from the URL.
  var urlBits: UInt64 { bits & ~0xFFFF }
  @inline(__always) var styleTag: UInt16 { UInt16(truncatingIfNeeded: bits) }
  /// The hash of the URL alone. The index does not separate URLs that share it.
  var ofURL: KeyHash { KeyHash(bits: bits & (~0 << 26)) }
  /// The ten bits between tag and style are not kept: the table returns zeros there.
  @inline(__always) package var stored: KeyHash { KeyHash(bits: bits & ~(0x3FF << 16)) }
}
