import Testing

/// Makes all kinds of damage to an encoded structure, and expects each to be refused.
///
/// `covered`: the range in which a change of any byte must be noticed. `accepts`: whether the reader accepts the
/// bytes.
func expectRefusals(
  of bytes: [UInt8], covered: Range<Int>, needs byteCount: Int? = nil,
  sourceLocation: SourceLocation = #_sourceLocation, accepts: ([UInt8]) -> Bool
) {
  #expect(accepts(bytes), "unchanged bytes are taken", sourceLocation: sourceLocation)
  var unnoticed: [Int] = []
  var changed = bytes
  for index in covered {
    for mask: UInt8 in [0x01, 0x80, 0xFF] {
      changed[index] = bytes[index] ^ mask
      if accepts(changed) { unnoticed.append(index) }
    }
    changed[index] = bytes[index]
  }
  #expect(unnoticed == [], "bytes whose change is not noticed", sourceLocation: sourceLocation)
  let short = (0..<(byteCount ?? bytes.count)).filter { accepts(Array(bytes[..<$0])) }
  #expect(short == [], "lengths that are taken for whole", sourceLocation: sourceLocation)
}
