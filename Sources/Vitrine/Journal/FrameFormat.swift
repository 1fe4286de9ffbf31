/// A frame of the WAL: a header of 40 bytes and the changes that happen together.
///
/// ```
///  0 u32 magic   4 u32 bytes in all (a multiple of 8)   8 u64 sequence   16 u64 checksum
/// 24 u64 durable sequence   32 u32 changes   36 u16 part (0)   38 u16 parts (1)   40 changes
/// ```
/// The checksum covers all but itself, under the file's seed and the frame's offset. All frames below the `durable
/// sequence` were durable when this frame was written, so a break of the log before that number is damage (rule 9).
package enum Frame {
  package static let magic: UInt32 = 0x4D52_4656  // "VFRM"
  package static let headerByteCount = 40

  package struct Header: Sendable, Equatable {
    package var byteCount: Int
    package var sequence: UInt64
    package var durableSequence: UInt64
    package var changeCount: Int
  }

  /// Begins a frame in an empty buffer; ``finish(_:offset:seed:sequence:durableSequence:changeCount:)`` ends it
  /// after the changes.
  package static func begin(_ buffer: ByteBuffer) {
    buffer.removeAll()
    buffer.append(magic)
    buffer.pad(to: headerByteCount)
  }

  package static func finish(
    _ buffer: ByteBuffer, offset: Int, seed: UInt64, sequence: UInt64, durableSequence: UInt64, changeCount: Int
  ) {
    buffer.pad(toMultipleOf: 8)
    buffer.set(UInt32(buffer.count), at: 4)
    buffer.set(sequence, at: 8)
    buffer.set(durableSequence, at: 24)
    buffer.set(UInt32(changeCount), at: 32)
    buffer.set(UInt16(0), at: 36)
    buffer.set(UInt16(1), at: 38)
    buffer.set(checksum(buffer.bytes, offset: offset, seed: seed), at: 16)
  }

  private static func checksum(_ frame: UnsafeRawBufferPointer, offset: Int, seed: UInt64) -> UInt64 {
    Checksum.of(
      UnsafeRawBufferPointer(rebasing: frame[0..<16]), UnsafeRawBufferPointer(rebasing: frame[24...]),
      seed: Checksum.seed(seed, UInt64(offset)))
  }

  /// Returns the length that the frame's header gives, unchecked; nil if no frame begins here.
  @inline(__always)
  package static func byteCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard bytes.count >= headerByteCount, let p = bytes.baseAddress, p.u32(0) == magic else { return nil }
    let byteCount = Int(p.u32(4))
    return byteCount >= headerByteCount && byteCount & 7 == 0 ? byteCount : nil
  }

  /// Returns the number of changes that the header of the frame with this number gives, unchecked; nil for another
  /// frame's header.
  static func changeCount(_ head: UnsafeRawBufferPointer, sequence: UInt64) -> Int? {
    guard let start = head.baseAddress, start.u64(8) == sequence else { return nil }
    return Int(start.u32(32))
  }

  /// Returns the frame at the head of `bytes`, which are at `offset` of their file, if it is whole. O(its length).
  package static func parse(_ bytes: UnsafeRawBufferPointer, at offset: Int, seed: UInt64) -> Header? {
    guard let byteCount = byteCount(bytes), byteCount <= bytes.count, let p = bytes.baseAddress, p.u16(36) == 0,
      p.u16(38) == 1,
      p.u64(16) == checksum(UnsafeRawBufferPointer(start: p, count: byteCount), offset: offset, seed: seed)
    else { return nil }
    return Header(
      byteCount: byteCount, sequence: p.u64(8), durableSequence: p.u64(24), changeCount: Int(p.u32(32)))
  }

  /// Calls `body` with the changes of a frame that ``parse(_:at:seed:)`` has found, until it returns false. Returns
  /// false if `body` did, or if the changes do not match the header. Inline ranges count from the file's start.
  package static func forEachChange(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, _ header: Header, _ body: (Change) -> Bool
  ) -> Bool {
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[headerByteCount..<header.byteCount]))
    guard header.changeCount <= reader.remaining / 8 else { return false }
    for _ in 0..<header.changeCount {
      guard var change = Change.decode(&reader) else { return false }
      if case .put(var put) = change, let inline = put.inline {
        let base = offset + headerByteCount
        put.inline = inline.lowerBound + base..<inline.upperBound + base
        change = .put(put)
      }
      if !body(change) { return false }
    }
    return true
  }

  /// Returns the changes as an array; nil if ``forEachChange(_:at:_:_:)`` returns false.
  package static func changes(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ header: Header) -> [Change]? {
    var changes: [Change] = []
    let isWhole = forEachChange(bytes, at: offset, header) { change in
      changes.append(change)
      return true
    }
    return isWhole ? changes : nil
  }
}
