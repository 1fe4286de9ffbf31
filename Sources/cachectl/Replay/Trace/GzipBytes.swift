import CZlib

/// The bytes of a gzip file: one member or several in a row, as gzip itself reads them.
final class GzipBytes: TraceBytes {
  private var packed: PackedBytes
  /// At an address that stays the same, because zlib keeps it.
  private let stream: UnsafeMutablePointer<z_stream>
  /// Whether a member has begun and not ended.
  private var isInMember = true

  /// 15 bits of window, the most that deflate has, and 16 for the gzip header.
  private static let windowBits: CInt = 15 + 16

  init(_ source: any TraceBytes) throws {
    packed = PackedBytes(source)
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard inflateInit2_(stream, GzipBytes.windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      throw Failure("zlib cannot start")
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      if try packed.isEmpty() {
        if isInMember { throw TraceDamage(reason: "the gzip data is cut short") }
        return 0
      }
      if !isInMember {
        inflateReset(stream)
        isInMember = true
      }
      let (count, code) = inflate(into: buffer)
      switch code {
      case Z_STREAM_END: isInMember = false
      case Z_OK, Z_BUF_ERROR: break
      case Z_MEM_ERROR: throw Failure("zlib has no memory")
      default: throw TraceDamage(reason: "the gzip data is damaged")
      }
      if count > 0 { return count }
    }
  }

  /// Returns the number of bytes unpacked, and zlib's code.
  private func inflate(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, code: CInt) {
    var code = Z_OK
    let room = UInt32(clamping: buffer.count)
    stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: Bytef.self)
    stream.pointee.avail_out = room
    packed.take { bytes in
      stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: Bytef.self)
      stream.pointee.avail_in = UInt32(clamping: bytes.count)
      code = CZlib.inflate(stream, Z_NO_FLUSH)
      return bytes.count - Int(stream.pointee.avail_in)
    }
    return (Int(room - stream.pointee.avail_out), code)
  }
}
