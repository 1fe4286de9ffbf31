enum Hexadecimal {
  /// The two digits of each byte.
  private nonisolated(unsafe) static let digits: UnsafePointer<UInt16> = {
    let table = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    let digits = Array("0123456789abcdef".utf8)
    for byte in 0..<256 {
      // In the order of memory: the higher digit first.
      table[byte] = UInt16(littleEndian: UInt16(digits[byte >> 4]) | UInt16(digits[byte & 15]) << 8)
    }
    return UnsafePointer(table)
  }()

  /// Writes 16 digits.
  @inline(__always)
  static func write(_ number: UInt64, to target: UnsafeMutablePointer<UInt8>) {
    let digits = digits
    let memory = UnsafeMutableRawPointer(target)
    for place in 0..<8 {
      let byte = Int(truncatingIfNeeded: number >> UInt64(56 - 8 * place)) & 255
      memory.storeBytes(of: digits[byte], toByteOffset: 2 * place, as: UInt16.self)
    }
  }
}
