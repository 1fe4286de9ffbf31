/// The position of a record: the slot of its segment in the segment table, and the offset in units of 64 bytes.
///
/// It has 38 bits, so that it packs with tags and flags into one word of the index. Offset 0 is a segment's header, so
/// no record has the value 0.
package struct Location: Hashable, Sendable {
  package let bits: UInt64

  package static let mask: UInt64 = (1 << 38) - 1
  package static let none = Location(bits: 0)
  /// The bytes of one segment within which records can begin.
  package static let offsetLimit = 1 << 28

  @inline(__always) package init(bits: UInt64) { self.bits = bits }

  @inline(__always) package init(slot: Int, offset: Int) {
    bits = UInt64(slot) << 22 | UInt64(offset >> 6)
  }

  @inline(__always) package var slot: Int { Int(bits >> 22) & 0xFFFF }
  @inline(__always) package var offset: Int { Int(bits & 0x3F_FFFF) << 6 }
}

/// Records are placed and counted in units of 64 bytes.
package enum Unit {
  package static let byteCount = 64
  @inline(__always) package static func count(_ bytes: Int) -> Int { (bytes + 63) >> 6 }
}
