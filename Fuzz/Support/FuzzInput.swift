@testable import Vitrine

/// The bytes of one input, consumed from the front. Reads past the end return zero, so every input is valid.
package struct FuzzInput {
  private let bytes: [UInt8]
  private var offset = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// As libFuzzer passes them.
  package init(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) {
    bytes = Array(UnsafeBufferPointer(start: start, count: byteCount))
  }

  package var isAtEnd: Bool { offset >= bytes.count }
  package var remaining: Int { bytes.count - offset }

  package mutating func next<T: FixedWidthInteger>(_: T.Type = T.self) -> T {
    var value: T = 0
    for place in 0..<MemoryLayout<T>.size where offset < bytes.count {
      value |= T(truncatingIfNeeded: bytes[offset]) << (8 * place)
      offset += 1
    }
    return value
  }

  package mutating func byte() -> UInt8 { next() }
  package mutating func flag() -> Bool { byte() & 1 == 1 }

  /// A number in `0..<bound`; 0 if there is none.
  package mutating func number(below bound: Int) -> Int {
    guard bound > 1 else { return 0 }
    let drawn: UInt64 = bound <= 1 << 8 ? UInt64(byte()) : bound <= 1 << 16 ? UInt64(next(UInt16.self)) : next()
    return Int(drawn % UInt64(bound))
  }

  /// Up to `count` bytes, fewer if the input ends.
  package mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, offset + max(0, count))
    defer { offset = end }
    return Array(bytes[offset..<end])
  }

  /// A length of 16 bits and that many bytes.
  package mutating func block() -> [UInt8] { take(Int(next(UInt16.self))) }

  package mutating func rest() -> [UInt8] { take(remaining) }

  /// A number as in hostile files: near zero, near a power of two, or any.
  package mutating func hostile() -> UInt64 {
    let byte = self.byte()
    switch byte >> 6 {
    case 0: return UInt64(byte)
    case 1: return (1 << UInt64(byte & 63)) &- 1
    case 2: return 1 << UInt64(byte & 63)
    default: return next()
    }
  }
}

/// The inverse, for seeds.
package struct InputWriter {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func append<T: FixedWidthInteger>(_ value: T) {
    for place in 0..<MemoryLayout<T>.size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
  }

  package mutating func append(_ more: [UInt8]) { bytes += more }

  package mutating func appendBlock(_ block: [UInt8]) {
    append(UInt16(block.count))
    bytes += block
  }
}
