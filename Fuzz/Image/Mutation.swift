import FuzzSupport

/// A mutation of one file of a store. One byte names the mutation, the next byte the file, and the arguments follow.
/// If the high bit of the first byte is set, the mutation changes only places in use: most bytes of a store are zeros.
enum Mutation: UInt8, CaseIterable {
  /// Writes up to 16 bytes at a place.
  case write
  /// Changes one byte at a place by an exclusive or.
  case flip
  /// Writes a hostile number at a multiple of 4.
  case number
  case cut
  case empty
  case remove
  /// Exchanges the file with another one of the same store.
  case exchange
  /// Replaces the file by another one of the same store.
  case replace
  /// Replaces the file by its content at another moment, which is valid in itself.
  case stale
  /// Appends up to 255 bytes of one value.
  case append
  /// Replaces the content by up to 64 KiB of the input.
  case content
  /// Copies the file to the name that the next file of its kind would have.
  case duplicate
  /// Replaces the file by a folder.
  case folder
  /// Writes up to 64 KiB of one value at a place.
  case fill

  static func next(_ input: inout FuzzInput) -> (Mutation, usesPlacesInUse: Bool)? {
    guard !input.isAtEnd else { return nil }
    let byte = input.byte()
    return (allCases[Int(byte & 0x7F) % allCases.count], byte & 0x80 != 0)
  }
}
