import Vitrine

/// The bytes of each object of a trace: incompressible, and they follow from the seed, the object and its size.
///
/// Word `i` is the finalizer of SplitMix64 over the object's own beginning plus `i` steps. So a block of any place can
/// be made without the bytes before it.
struct TracePayload {
  let seed: UInt64

  private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Fills the buffer with the bytes of an object of that size.
  func fill(_ buffer: UnsafeMutableRawBufferPointer, object: UInt64) {
    var state = beginning(object, buffer.count)
    let whole = buffer.count & ~7
    for offset in stride(from: 0, to: whole, by: 8) {
      buffer.storeBytes(of: Self.word(state).littleEndian, toByteOffset: offset, as: UInt64.self)
      state &+= Self.step
    }
    let last = Self.word(state)
    for offset in whole..<buffer.count { buffer[offset] = Self.byte(offset - whole, of: last) }
  }

  /// Compares all bytes with those of an object of that size, in place. Returns the offset of the first difference, or
  /// nil.
  func mismatch(_ bytes: RawSpan, object: UInt64) -> Int? {
    bytes.withUnsafeBytes { bytes in
      var state = beginning(object, bytes.count)
      let whole = bytes.count & ~7
      var offset = 0
      while offset < whole {
        // No branch within a block, so that the loop has no more work than the bytes.
        let end = min(offset + Self.blockByteCount, whole)
        let (begin, first) = (offset, state)
        var difference: UInt64 = 0
        while offset < end {
          let stored = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
          difference |= stored ^ Self.word(state)
          state &+= Self.step
          offset += 8
        }
        if difference != 0 { return Self.firstDifference(bytes, in: begin..<end, first) }
      }
      return Self.firstDifference(bytes, in: whole..<bytes.count, state)
    }
  }

  private static let blockByteCount = 4096

  private func beginning(_ object: UInt64, _ byteCount: Int) -> UInt64 {
    Checksum.seed(seed, object, UInt64(byteCount))
  }

  /// Compares a range that begins at a whole word, whose state is given.
  private static func firstDifference(
    _ bytes: UnsafeRawBufferPointer, in range: Range<Int>, _ state: UInt64
  ) -> Int? {
    range.first { offset in
      let (word, place) = (offset - range.lowerBound).quotientAndRemainder(dividingBy: 8)
      return bytes[offset] != byte(place, of: Self.word(state &+ UInt64(word) &* step))
    }
  }

  private static func byte(_ place: Int, of word: UInt64) -> UInt8 {
    UInt8(truncatingIfNeeded: word >> UInt64(8 * place))
  }

  @inline(__always)
  private static func word(_ state: UInt64) -> UInt64 {
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// The memory for one payload at a time, as large as the largest so far.
final class PayloadBuffer {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  deinit { memory.deallocate() }

  /// Passes the payload of an object to `body`.
  func with<R>(
    _ payload: TracePayload, _ request: TraceRequest, _ body: (RawSpan) throws -> R
  ) rethrows -> R {
    if memory.count < request.byteCount {
      memory.deallocate()
      memory = .allocate(byteCount: request.byteCount, alignment: 64)
    }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<request.byteCount])
    payload.fill(bytes, object: request.object)
    return try body(UnsafeRawBufferPointer(bytes).bytes)
  }
}
