/// A message between a ``ProcessDecoder`` and one of its processes. All messages have one size, so neither side must
/// trust a length.
///
/// ```
///        owner                          process
///                                <----  ready (version)
///  picture (bytes, limits) ------>
///                                <----  header or failed
///  pixels (memory, least size) -->
///                                <----  drawn or failed
/// ```
///
/// Little-endian: kind (1 byte), 0 (1), length of the text in bytes (2), turn (4), ten numbers (8 each), text (424).
/// Bytes and pixels are passed in shared memory.
package struct DecoderFrame: Hashable {
  package enum Kind: UInt8 {
    case ready = 1
    case picture
    case header
    case pixels
    case drawn
    case failed
  }

  package static let byteCount = 512
  package static let version: Int64 = 1
  private static let textOffset = 88
  private static let numberCount = 10

  package var kind: Kind
  /// The number of the picture. An answer has the turn of its question.
  package var turn: UInt32
  /// The ten numbers. Missing ones at the end are 0.
  package var numbers: [Int64]
  package var text: String

  package init(_ kind: Kind, turn: UInt32 = 0, numbers: [Int64] = [], text: String = "") {
    self.kind = kind
    self.turn = turn
    self.numbers = Array(
      (numbers + [Int64](repeating: 0, count: DecoderFrame.numberCount))[..<DecoderFrame.numberCount])
    self.text = text
  }

  /// The encoded frame. A text that is too long is cut.
  package var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: DecoderFrame.byteCount)
    let text = text.utf8.prefix(DecoderFrame.byteCount - DecoderFrame.textOffset)
    func write(_ value: UInt64, _ offset: Int, _ count: Int) {
      for place in 0..<count { bytes[offset + place] = UInt8(truncatingIfNeeded: value >> (8 * place)) }
    }
    bytes[0] = kind.rawValue
    write(UInt64(text.count), 2, 2)
    write(UInt64(turn), 4, 4)
    for (index, number) in numbers.enumerated() { write(UInt64(bitPattern: number), 8 + 8 * index, 8) }
    bytes.replaceSubrange(DecoderFrame.textOffset..<DecoderFrame.textOffset + text.count, with: text)
    return bytes
  }

  /// Returns nil for bytes that are not a frame. Replaces invalid UTF-8 in the text.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == DecoderFrame.byteCount, let kind = Kind(rawValue: bytes[0]), bytes[1] == 0 else {
      return nil
    }
    func read(_ offset: Int, _ count: Int) -> UInt64 {
      (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * $1) }
    }
    let textEnd = DecoderFrame.textOffset + Int(read(2, 2))
    guard textEnd <= bytes.count else { return nil }
    self.kind = kind
    turn = UInt32(truncatingIfNeeded: read(4, 4))
    numbers = (0..<DecoderFrame.numberCount).map { Int64(bitPattern: read(8 + 8 * $0, 8)) }
    text = String(decoding: bytes[DecoderFrame.textOffset..<textEnd], as: UTF8.self)
  }
}
