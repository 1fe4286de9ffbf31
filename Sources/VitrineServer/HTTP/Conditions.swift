import Vitrine

/// Entity tags: the digest of a value in quotes.
enum EntityTag {
  static func text(_ digest: Digest) -> String { "\"\(digest)\"" }

  /// Whether a list of tags, such as that of `If-None-Match`, contains the tag. `*` contains every tag. If `weakly`, a
  /// weak tag counts as its strong form.
  static func list(_ list: String, has tag: String, weakly: Bool) -> Bool {
    list.split(separator: ",").contains { word in
      var word = word.drop { $0 == " " || $0 == "\t" }
      while let last = word.last, last == " " || last == "\t" { word = word.dropLast() }
      if word == "*" { return true }
      if weakly, word.hasPrefix("W/") { word = word.dropFirst(2) }
      return word == tag
    }
  }
}

/// The part of a value that a `Range` field asks for.
enum ByteRange: Equatable {
  /// The field is missing, malformed, in another unit, or asks for several parts: the answer is the whole value.
  case whole
  case part(Range<Int>)
  /// No byte of the value is in the range.
  case unsatisfiable

  init(_ field: String?, byteCount: Int) {
    self = .whole
    guard let field, field.lowercased().hasPrefix("bytes=") else { return }
    let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = ByteRange.number(ends[0]), let last = ByteRange.number(ends[1]) else { return }
    switch (first, last) {
    case (nil, nil): return
    case (nil, let count?):
      self = count == 0 || byteCount == 0 ? .unsatisfiable : .part(max(0, byteCount - count)..<byteCount)
    case (let first?, let last):
      if let last, last < first { return }
      guard first < byteCount else {
        self = .unsatisfiable
        return
      }
      self = .part(first..<(1 + min(byteCount - 1, last ?? .max)))
    }
  }

  /// Returns nil for text that is no number, and a nil in it for empty text.
  private static func number(_ text: Substring) -> Int?? {
    if text.isEmpty { return .some(nil) }
    guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return .some(Int(text) ?? .max)
  }
}
