/// The result of a lookup: the pinned place of a payload, or the reason why there is none.
@usableFromInline
struct Borrow {
  @usableFromInline
  enum Outcome: UInt8 {
    /// The bytes lie in the pinned segment.
    case inPlace
    /// The bytes lie in a buffer of the thread, and the pin is released.
    case copied
    case missing, expired, outdated, damaged, closed
    /// A file could not be opened now: a miss, but no entry is dropped.
    case unavailable
  }

  @usableFromInline let start: UnsafeRawPointer?
  @usableFromInline let count: Int
  /// The pin on the segment in which the bytes lie.
  let pin: Pin
  @usableFromInline let outcome: Outcome
  /// The hash and the location of the key's own record.
  let hash: KeyHash
  let location: Location

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, of hash: KeyHash, at location: Location, pin: Pin, isCopied: Bool = false) {
    start = bytes.baseAddress
    count = bytes.count
    outcome = isCopied ? .copied : .inPlace
    self.pin = pin
    self.hash = hash
    self.location = location
  }

  init(_ absence: Outcome) {
    start = nil
    count = 0
    outcome = absence
    pin = Pin(level: 0, address: 0)
    hash = KeyHash(bits: 0)
    location = .none
  }

  @inlinable var isFound: Bool { outcome.rawValue <= Outcome.copied.rawValue }
  var isCopied: Bool { outcome == .copied }
  @inlinable var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}
