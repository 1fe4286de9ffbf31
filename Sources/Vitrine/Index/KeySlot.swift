/// An entry of the key table: 16 bytes.
///
/// `word0`: location (38 bits), flags (7), style mark (3), style tag (16). `word1`: URL tag (32), stamp (32). The stamp
/// is that of the last use, or that of the last put or change if the policy does not count gets as uses (`fifo`). A
/// `word0` of zero is an empty place.
package struct KeySlot: Sendable {
  package var word0: UInt64
  package var word1: UInt64

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt64
    @inline(__always) package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// The payload was checked since the store was opened, or written by this opening.
    package static let checked = Flags(rawValue: 1)
    /// The record carries no payload.
    package static let reference = Flags(rawValue: 2)
    /// The two bits of ``KeySlot/uses``.
    static let recency = Flags(rawValue: 12)
    /// The record has an expiry.
    package static let expires = Flags(rawValue: 16)
    /// No original outdates the entry: its record has no source, or one that its put has named. Set only for records
    /// that this opening has written or examined.
    package static let independent = Flags(rawValue: 32)
    /// Eviction skips the entry.
    package static let pinned = Flags(rawValue: 64)
    /// The flags that a checkpoint keeps.
    static let kept: Flags = [.reference, .recency, .expires, .pinned]
  }

  @inline(__always) package init(_ hash: KeyHash, _ location: Location, _ flags: Flags) {
    word0 = location.bits | flags.rawValue << 38 | UInt64(hash.styleTag) << 48
    word1 = UInt64(hash.urlTag)
  }
  @inline(__always) package init(word0: UInt64, word1: UInt64) {
    self.word0 = word0
    self.word1 = word1
  }
  @inline(__always) package var location: Location { Location(bits: word0 & Location.mask) }
  @inline(__always) package var flags: Flags { Flags(rawValue: word0 >> 38 & 0x7F) }
  /// The entry without its style mark and the flags of this opening.
  package var kept: KeySlot {
    KeySlot(word0: word0 & ~(0x3FF << 38) | flags.intersection(.kept).rawValue << 38, word1: word1)
  }
  /// At most 3. A get, an overwrite or a change of metadata adds one. If eviction examines the segment and keeps the
  /// entry, the entry loses one use or all of them.
  @inline(__always) var uses: Int {
    get { Int(word0 >> 40 & 3) }
    set { word0 = word0 & ~(3 << 40) | UInt64(min(newValue, 3)) << 40 }
  }
  /// The mark of the style (``Style/mark(of:)``); 0 if unknown. Checkpoints do not keep it. It is set by a put, and by
  /// a lookup of another style that reads this entry's record.
  @inline(__always) var styleMark: UInt64 {
    get { word0 >> 45 & 7 }
    set { word0 = word0 & ~(7 << 45) | newValue << 45 }
  }
  @inline(__always) mutating func addUse() { if word0 >> 40 & 3 != 3 { word0 += 1 << 40 } }
  @inline(__always) var isEmpty: Bool { word0 == 0 }
  @inline(__always) var urlTag: UInt32 { UInt32(truncatingIfNeeded: word1) }
  /// The stamp of the last use, by the table's ``RecencyClock``.
  @inline(__always) package var stamp: UInt32 {
    get { UInt32(truncatingIfNeeded: word1 >> 32) }
    set { word1 = word1 & 0xFFFF_FFFF | UInt64(newValue) << 32 }
  }
  @inline(__always) var styleTag: UInt16 { UInt16(truncatingIfNeeded: word0 >> 48) }
  @inline(__always) func matches(_ hash: KeyHash) -> Bool {
    urlTag == hash.urlTag && UInt16(truncatingIfNeeded: word0 >> 48) == hash.styleTag
  }
  package func hash(shard: Int) -> KeyHash {
    KeyHash(bits: UInt64(shard) << 58 | UInt64(urlTag) << 26 | word0 >> 48)
  }
}
