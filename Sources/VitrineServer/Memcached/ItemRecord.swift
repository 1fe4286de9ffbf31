/// The properties of an item besides its value. They are stored as the first line of the entry's metadata:
/// `item: 0000002a 000006478ab31f02 -- 00000000`. The line has the client's flags, the unique number, and two marks:
/// `s` for a stale item and `t` for a sent token.
///
/// The other lines of the metadata, such as `content-type`, stay. An entry without the line has flags 0, and a unique
/// number derived from its digest.
struct ItemRecord: Equatable {
  /// 32 bits that clients store with a value.
  var flags: UInt32 = 0
  /// The unique number. It changes when a client changes the value or invalidates the item.
  var unique: UInt64 = 0
  /// Whether a client has invalidated the item. Gets still return it, marked as stale.
  var isStale = false
  /// Whether a client was told to renew the item. Other clients learn that from the flag `Z`.
  var isTokenSent = false
  /// The other lines of the metadata.
  var others: [UInt8] = []

  private static let name = Array("item: ".utf8)
  private static let byteCount = name.count + 8 + 1 + 16 + 1 + 2 + 1

  init(flags: UInt32 = 0, unique: UInt64 = 0) {
    self.flags = flags
    self.unique = unique
  }

  /// Reads the metadata of an entry.
  init(metadata: [UInt8], digest: @autoclosure () -> UInt64) {
    guard metadata.count >= ItemRecord.byteCount, metadata.starts(with: ItemRecord.name),
      let flags = ItemRecord.hexadecimal(metadata[6..<14]), let unique = ItemRecord.hexadecimal(metadata[15..<31])
    else {
      others = metadata
      // To clients, 0 means no number.
      self.unique = max(1, digest() >> 1)
      return
    }
    self.flags = UInt32(truncatingIfNeeded: flags)
    self.unique = unique
    isStale = metadata[32] == UInt8(ascii: "s")
    isTokenSent = metadata[33] == UInt8(ascii: "t")
    if metadata.count > ItemRecord.byteCount { others = Array(metadata[ItemRecord.byteCount...]) }
  }

  /// The metadata of an entry with these properties.
  var metadata: [UInt8] {
    var bytes = ItemRecord.name
    bytes.reserveCapacity(ItemRecord.byteCount + others.count)
    ItemRecord.append(UInt64(flags), digits: 8, to: &bytes)
    bytes.append(Byte.blank)
    ItemRecord.append(unique, digits: 16, to: &bytes)
    bytes.append(Byte.blank)
    bytes.append(UInt8(ascii: isStale ? "s" : "-"))
    bytes.append(UInt8(ascii: isTokenSent ? "t" : "-"))
    bytes.append(Byte.lineFeed)
    return bytes + others
  }

  private static func append(_ number: UInt64, digits: Int, to bytes: inout [UInt8]) {
    for digit in (0..<digits).reversed() {
      let value = UInt8(number >> UInt64(4 * digit) & 15)
      bytes.append(value < 10 ? 0x30 + value : 0x57 + value)
    }
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: number = number << 4 | UInt64(digit - 0x30)
      case 0x61...0x66: number = number << 4 | UInt64(digit - 0x57)
      default: return nil
      }
    }
    return number
  }
}
