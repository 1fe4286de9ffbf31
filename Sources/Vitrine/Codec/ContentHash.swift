/// The hash of a blob in the index: bits from its digest, mixed with the store's secret, so clients cannot choose
/// colliding blobs.
package struct ContentHash: Hashable, Sendable {
  package let bits: UInt64
  @inline(__always) package init(bits: UInt64) { self.bits = bits }
  @inline(__always) var shard: Int { Int(bits >> 58) }
  @inline(__always) var tag: UInt64 { bits >> 34 & 0xFF_FFFF }
  /// The bits that the table keeps.
  package var stored: ContentHash { ContentHash(bits: bits & ~((1 << 34) - 1)) }
}
