/// The last use of a key, as the file of uses has it.
package struct KeyUse: Sendable, Equatable {
  /// The hash as the index keeps it (``KeyHash/stored``).
  package let hash: KeyHash
  /// Uses by the count of the key table, at most 3.
  package let uses: Int
  /// The recency clock at the use.
  package let stamp: UInt64

  package init(_ hash: KeyHash, uses: Int, stamp: UInt64) {
    self.hash = hash
    self.uses = uses
    self.stamp = stamp
  }
}

/// A block of the file of uses: the last uses of some keys, oldest first.
///
/// ```
///   0 u64 checksum of the rest, seeded with the store id
///   8 u64 number, which rises from block to block   16 u64 recency clock, not below any use in the block
///  24 u64 sequence of the next frame when the uses were collected   32 i64 that time in milliseconds since 1970
///  40 u64 number of uses   48 the uses   zeros
///
/// a use: bits 0-7 age   8-9 uses   10-25 tag of the style   26-57 tag of the URL   58-63 shard
/// ```
///
/// An age is the number of stamps between the use and the recency clock, rounded down to four significant bits. The
/// order of the uses tells which of two with the same age is older.
package struct UseBlock: Sendable, Equatable {
  package static let byteCount = 4096
  package static let mostUses = (byteCount - headByteCount) / 8
  private static let headByteCount = 48

  package var number: UInt64
  package var clock: UInt64
  package var sequence: UInt64
  /// Milliseconds since 1970.
  package var time: Int64
  package var uses: [KeyUse]

  package init(number: UInt64, clock: UInt64, sequence: UInt64, time: Int64, uses: [KeyUse]) {
    self.number = number
    self.clock = clock
    self.sequence = sequence
    self.time = time
    self.uses = uses
  }

  /// Returns nil for bytes that are no block of the store.
  /// - Parameter readsUses: Whether the uses are decoded. Without them, the block has no uses, and costs no allocation.
  package init?(_ bytes: UnsafeRawBufferPointer, store: StoreID, readsUses: Bool = true) {
    guard bytes.count == UseBlock.byteCount, let p = bytes.baseAddress,
      p.u64(0) == UseBlock.checksum(bytes, store), p.u64(8) < UInt64(1) << 62, p.u64(16) < UInt64(1) << 62,
      p.u64(40) <= UseBlock.mostUses
    else { return nil }
    number = p.u64(8)
    clock = p.u64(16)
    sequence = p.u64(24)
    // Bounded so that differences of times do not overflow.
    time = min(max(p.i64(32), -1 << 60), 1 << 60)
    uses = []
    if !readsUses { return }
    let count = Int(p.u64(40))
    uses.reserveCapacity(count)
    var next: UInt64 = 0
    for index in 0..<count {
      let word = p.u64(UseBlock.headByteCount + 8 * index)
      // A rounded age makes a use seem younger. Each later use in the block has a higher stamp than this one.
      let most = clock &- min(UInt64(count - 1 - index), clock)
      let stamp = min(max(clock - min(UseBlock.age(ofShort: UInt8(word & 0xFF)), clock), next), most)
      uses.append(
        KeyUse(KeyHash(bits: word & ~(1 << 26 - 1) | word >> 10 & 0xFFFF), uses: Int(word >> 8 & 3), stamp: stamp))
      next = stamp + 1
    }
  }

  package func encoded(store: StoreID) -> [UInt8] {
    let buffer = ByteBuffer(capacity: UseBlock.byteCount)
    for word in [0, number, clock, sequence, UInt64(bitPattern: time), UInt64(uses.count)] { buffer.append(word) }
    for use in uses {
      let age = UInt64(UseBlock.short(age: clock - min(use.stamp, clock)))
      let style = UInt64(use.hash.styleTag) << 10
      buffer.append(use.hash.bits & ~(1 << 26 - 1) | style | UInt64(min(max(use.uses, 0), 3)) << 8 | age)
    }
    buffer.pad(to: UseBlock.byteCount)
    buffer.set(UseBlock.checksum(buffer.bytes, store), at: 0)
    return Array(buffer.bytes)
  }

  private static func checksum(_ bytes: UnsafeRawBufferPointer, _ store: StoreID) -> UInt64 {
    Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[8...]), seed: Checksum.seed(store.low, store.high))
  }

  // A short age below 16 is the age. A higher one is an exponent e and four significant bits m, of which the first is
  // set. The high five bits are e + 1. The low three bits are those of m behind the first. The age is m << e, with e
  // from 1 to 30.

  static func short(age: UInt64) -> UInt8 {
    if age < 16 { return UInt8(age) }
    let exponent = 60 - age.leadingZeroBitCount
    return exponent > 30 ? .max : UInt8(8 * exponent) + UInt8(age >> UInt64(exponent))
  }

  static func age(ofShort short: UInt8) -> UInt64 {
    if short < 16 { return UInt64(short) }
    return UInt64(short % 8 + 8) << UInt64(short / 8 - 1)
  }
}
