import FuzzSupport

/// A mutation of one file of a store. One byte names it, another one the file, and its arguments follow. The high
/// bit of the first byte chooses places in use: most of a store's files is zeros.
enum Mutation: UInt8, CaseIterable {
  /// Up to 16 bytes at a place.
  case write
  /// One byte at a place, by an exclusive or.
  case flip
  /// A hostile number, at a multiple of 4.
  case number
  case cut
  case empty
  case remove
  /// With another file of the same store.
  case exchange
  /// By another file of the same store.
  case replace
  /// By the same file at another moment: stale, and valid in itself.
  case stale
  /// Up to 255 bytes at the end, of one value.
  case append
  /// Up to 64 KiB of the input in its place.
  case content
  /// Copied to the name that the next file of its kind would have.
  case duplicate
  /// A folder in its place.
  case folder
  /// Up to 64 KiB of one value at a place.
  case fill

  static func next(_ input: inout FuzzInput) -> (Mutation, usesPlacesInUse: Bool)? {
    guard !input.isAtEnd else { return nil }
    let byte = input.byte()
    return (allCases[Int(byte & 0x7F) % allCases.count], byte & 0x80 != 0)
  }
}
