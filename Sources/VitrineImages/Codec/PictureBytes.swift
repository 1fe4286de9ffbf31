#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of a picture. Offsets are not trusted: reads outside the bytes return nil.
///
/// Valid only inside the closure in which it was created.
struct PictureBytes {
  private let buffer: UnsafeRawBufferPointer

  init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

  var count: Int { buffer.count }

  /// The pointer for C. It is not null even for empty bytes.
  var pointer: UnsafePointer<UInt8> {
    buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(bitPattern: 1)!
  }

  subscript(offset: Int) -> UInt8? {
    offset >= 0 && offset < buffer.count ? buffer[offset] : nil
  }

  /// Returns the part of the range that lies in the bytes.
  func slice(_ range: Range<Int>) -> PictureBytes {
    PictureBytes(UnsafeRawBufferPointer(rebasing: buffer[range.clamped(to: 0..<buffer.count)]))
  }

  var array: [UInt8] { Array(buffer) }

  /// Appends the bytes of a range that lie in the file.
  func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: buffer[range.clamped(to: 0..<buffer.count)])
  }

  func prefix(_ count: Int) -> ArraySlice<UInt8> { Array(buffer.prefix(count))[...] }

  func integer(at offset: Int, byteCount: Int, isLittleEndian: Bool) -> Int? {
    guard offset >= 0, offset <= buffer.count, byteCount <= buffer.count - offset else { return nil }
    var value = 0
    for place in 0..<byteCount {
      value = value << 8 | Int(buffer[offset + (isLittleEndian ? byteCount - 1 - place : place)])
    }
    return value
  }

  func begins(_ start: [UInt8]) -> Bool { buffer.starts(with: start) }

  func hasText(_ text: String, at offset: Int) -> Bool {
    offset >= 0 && offset <= buffer.count && buffer[offset...].starts(with: text.utf8)
  }

  /// Returns the offset of the first `byte` at or after `start`, or nil. O(bytes).
  func offset(of byte: UInt8, from start: Int) -> Int? {
    guard start >= 0, start < buffer.count, let base = buffer.baseAddress else { return nil }
    return memchr(base + start, Int32(byte), buffer.count - start).map { UnsafeRawPointer($0) - base }
  }

  /// Returns printable ASCII, or nil.
  func text(_ range: Range<Int>) -> String? {
    guard range.lowerBound >= 0, range.upperBound <= buffer.count else { return nil }
    let bytes = buffer[range]
    return bytes.allSatisfy { (0x20...0x7E).contains($0) } ? String(decoding: bytes, as: UTF8.self) : nil
  }
}

extension [UInt8] {
  /// Appends the lowest `byteCount` bytes of a number.
  mutating func append(_ value: Int, byteCount: Int, isLittleEndian: Bool) {
    for place in 0..<byteCount {
      append(UInt8(truncatingIfNeeded: value >> (8 * (isLittleEndian ? place : byteCount - 1 - place))))
    }
  }
}
