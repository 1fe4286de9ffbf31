/// The words of a request line, separated by spaces.
///
/// Refers to the bytes of the line, and is valid as long as they are.
struct RequestWords {
  private let line: UnsafeRawBufferPointer
  private var ranges: [Range<Int>] = []

  /// The largest number of words that are split. Further words are ignored. A meta command with so many words is
  /// refused.
  static let most = 24

  init() { line = UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Splits a line without its line end.
  init(_ line: UnsafeRawBufferPointer) {
    self.line = line
    ranges.reserveCapacity(8)
    var start = 0
    while start < line.count {
      if line[start] == Byte.blank {
        start += 1
        continue
      }
      var end = start
      while end < line.count, line[end] != Byte.blank { end += 1 }
      ranges.append(start..<end)
      if ranges.count == RequestWords.most { break }
      start = end
    }
  }

  var count: Int { ranges.count }

  subscript(index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: line[ranges[index]]) }

  /// Returns the word, or nil after the last one.
  func word(_ index: Int) -> UnsafeRawBufferPointer? { index < ranges.count ? self[index] : nil }
}

enum Byte {
  static let blank = UInt8(ascii: " ")
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let hash = UInt8(ascii: "#")
  static let minus = UInt8(ascii: "-")
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are those of the text.
  @inline(__always)
  func isEqual(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount
      && elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// The number that the bytes spell in decimal digits. Nil for other bytes and for numbers above 64 bits.
  var unsignedNumber: UInt64? {
    guard !isEmpty, count <= 20 else { return nil }
    var number: UInt64 = 0
    for byte in self {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      let (product, hasOverflowed) = number.multipliedReportingOverflow(by: 10)
      let (sum, isTooLarge) = product.addingReportingOverflow(UInt64(byte - 0x30))
      if hasOverflowed || isTooLarge { return nil }
      number = sum
    }
    return number
  }

  /// The number that the bytes spell in decimal digits, with a minus in front if it is negative.
  var signedNumber: Int64? {
    guard first == Byte.minus else { return unsignedNumber.flatMap { Int64(exactly: $0) } }
    return UnsafeRawBufferPointer(rebasing: dropFirst()).unsignedNumber.flatMap { Int64(exactly: $0) }.map { -$0 }
  }

  /// A number of 32 bits.
  var unsigned32: UInt32? { unsignedNumber.flatMap { UInt32(exactly: $0) } }
}
