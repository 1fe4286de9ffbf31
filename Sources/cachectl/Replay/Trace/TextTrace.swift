/// Lines `object size`, both decimal. Blank lines and lines that begin with `#` are skipped.
struct TextTrace: TraceParser {
  static let unit = "line"
  private(set) var number = 0

  private enum Byte {
    static let lineFeed = UInt8(ascii: "\n")
    static let hash = UInt8(ascii: "#")
  }

  mutating func next(_ input: TraceInput) throws -> TraceRequest? {
    while true {
      number += 1
      guard var byte = try firstByte(input) else { return nil }
      if byte == Byte.lineFeed { continue }
      if byte == Byte.hash {
        while let other = try input.next(), other != Byte.lineFeed {}
        continue
      }
      guard let object = try Self.number(from: &byte, input), Self.isBlank(byte) else {
        throw TraceDamage(reason: "the object is not a decimal number below 2^64")
      }
      guard byte != Byte.lineFeed, let next = try firstByte(input), next != Byte.lineFeed else {
        throw TraceDamage(reason: "the size is missing")
      }
      byte = next
      guard let size = try Self.number(from: &byte, input), Self.isBlank(byte) else {
        throw TraceDamage(reason: "the size is not a decimal number")
      }
      if byte != Byte.lineFeed, let rest = try firstByte(input), rest != Byte.lineFeed {
        throw TraceDamage(reason: "there is more than an object and its size")
      }
      return TraceRequest(object: object, byteCount: Int(clamping: size))
    }
  }

  /// Returns the first byte of the line that is no blank, the line feed included; nil at the end of the trace.
  private func firstByte(_ input: TraceInput) throws -> UInt8? {
    while let byte = try input.next() {
      if byte == Byte.lineFeed || !Self.isBlank(byte) { return byte }
    }
    return nil
  }

  /// Reads the digits from `byte` on, and leaves the byte behind them in it; a line feed at the end of the trace.
  /// Returns nil if there is no digit, or if the number has more than 64 bits.
  private static func number(from byte: inout UInt8, _ input: TraceInput) throws -> UInt64? {
    var value: UInt64?
    while (0x30...0x39).contains(byte) {
      let (product, isTooLarge) = (value ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, overflows) = product.addingReportingOverflow(UInt64(byte - 0x30))
      if isTooLarge || overflows { return nil }
      value = sum
      guard let next = try input.next() else {
        byte = Byte.lineFeed
        break
      }
      byte = next
    }
    return value
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
