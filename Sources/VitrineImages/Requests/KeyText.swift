/// A key, compared by its bytes as a storage does. Two strings that only look the same, such as an é in one or in two
/// scalars, are equal as `String`s but are two keys.
struct KeyText: Hashable, Sendable {
  let text: String
  /// The hash of the bytes, computed once, since a request looks its key up in several places.
  private let digest: Int

  init(_ text: String) {
    var text = text
    var hasher = Hasher()
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    self.text = text
    digest = hasher.finalize()
  }

  static func == (a: KeyText, b: KeyText) -> Bool {
    guard a.digest == b.digest else { return false }
    let isSame = a.text.utf8.withContiguousStorageIfAvailable { a in
      b.text.utf8.withContiguousStorageIfAvailable { b in
        UnsafeRawBufferPointer(a).elementsEqual(UnsafeRawBufferPointer(b))
      }
    }
    // Both strings are contiguous after `withUTF8`.
    return isSame == true
  }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  func hasPrefix(_ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
}
