/// What a lookup found and holds: the payload's place, pinned, or nothing and why.
@usableFromInline
struct Borrow {
  @usableFromInline
  enum Outcome: UInt8 {
    /// The bytes lie in the pinned segment.
    case lent
    /// They lie in a buffer of the thread, and the pin has been given back.
    case copied
    case missing, expired, outdated, damaged, closed
    /// A file could not be opened now: a miss, but nothing is dropped.
    case unavailable
  }

  @usableFromInline let start: UnsafeRawPointer?
  @usableFromInline let count: Int
  /// On the segment that the bytes lie in.
  let pin: Pin
  @usableFromInline let outcome: Outcome
  /// The key's own record.
  let hash: KeyHash
  let location: Location

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, of hash: KeyHash, at location: Location, pin: Pin, isCopied: Bool = false) {
    start = bytes.baseAddress
    count = bytes.count
    outcome = isCopied ? .copied : .lent
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
