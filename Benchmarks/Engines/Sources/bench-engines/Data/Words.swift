import CBench

/// The ways in which values are read. Each returns the exclusive or of the words that it read.
enum Words {
  @inline(__always)
  static func touch(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard bytes.count >= 64, let start = bytes.baseAddress else { return bench_touch(bytes.baseAddress, bytes.count) }
    var sum: UInt64 = 0
    for word in 0..<8 { sum ^= start.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self) }
    return sum
  }

  @inline(__always)
  static func consume(_ bytes: UnsafeRawBufferPointer) -> UInt64 { bench_consume(bytes.baseAddress, bytes.count) }

  /// Makes the compiler believe that a value is needed.
  @inline(never)
  static func keep(_ value: UInt64) {}
}
