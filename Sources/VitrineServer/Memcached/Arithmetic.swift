import Vitrine

/// A change of an item whose value is a number in decimal digits.
struct Arithmetic {
  var isIncrement = true
  var delta: UInt64 = 1
  /// The unique number that the item must have; nil for any.
  var unique: UInt64?
  /// If not nil, a missing item is created with ``initial`` and this expiry.
  var vivified: ExpiryTime?
  var initial: UInt64 = 0
  /// The new expiry; nil keeps the present one.
  var expiry: ExpiryTime?

  struct Result {
    let number: UInt64
    let unique: UInt64
    let expirationMilliseconds: Int64?
  }

  /// Increments wrap around at 64 bits, and decrements stop at 0.
  func apply(to number: UInt64) -> UInt64 {
    if isIncrement { return number &+ delta }
    return delta > number ? 0 : number - delta
  }

  /// Returns the number that a value spells. Spaces may follow it. Returns nil for other values.
  static func number(_ blob: Blob) -> UInt64? {
    guard (1...20).contains(blob.byteCount) else { return nil }
    return blob.withBytes { bytes in
      bytes.withUnsafeBytes { bytes in
        let end = bytes.lastIndex { $0 != Byte.blank }.map { $0 + 1 } ?? 0
        return UnsafeRawBufferPointer(rebasing: bytes[..<end]).unsignedNumber
      }
    }
  }
}
