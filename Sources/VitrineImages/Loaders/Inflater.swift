#if os(Linux)
  import CZlib

  /// Decodes gzip and deflate by zlib. Ignores bytes after the end, as browsers do.
  final class Inflater: ContentDecoder.Layer {
    enum Form {
      /// One member or several in a row.
      case gzip
      /// With the zlib header of the standard, or without one, because some servers omit it.
      case deflate
    }

    private let form: Form
    /// At a fixed address, because zlib keeps a pointer to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: ContentDecoder.pieceByteCount, alignment: 16)
    private(set) var hasEnded = false
    private var hasBegun = false
    /// Whether bytes that begin no member follow the last member. All later bytes are then ignored.
    private var ignoresRest = false

    init(_ form: Form) throws {
      self.form = form
      stream = .allocate(capacity: 1)
      stream.initialize(to: z_stream())
      let bits = form == .gzip ? 15 + 16 : 15
      let size = CInt(MemoryLayout<z_stream>.size)
      // If this fails, the stream owns nothing, and `deinit` ends it without effect.
      guard inflateInit2_(stream, CInt(bits), ZLIB_VERSION, size) == Z_OK else {
        throw LoadError.interrupted("zlib has no memory")
      }
    }

    deinit {
      inflateEnd(stream)
      stream.deallocate()
      buffer.deallocate()
    }

    func decode(_ bytes: UnsafeRawBufferPointer, _ output: ContentDecoder.Output) throws {
      var rest = bytes
      guard let first = rest.first, !ignoresRest else { return }
      if !hasBegun {
        hasBegun = true
        // A zlib header has the method 8 in its low bits. In practice, raw deflate never begins with these bits.
        if form == .deflate, first & 0x0F != 8 { inflateReset2(stream, -15) }
      }
      while let next = rest.first {
        if hasEnded {
          guard form == .gzip, next == 0x1F else {
            ignoresRest = true
            return
          }
          inflateReset(stream)
          hasEnded = false
        }
        let count = try inflate(rest, output)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }

    /// Decodes until the input or the stream ends. Returns the number of bytes used.
    private func inflate(_ bytes: UnsafeRawBufferPointer, _ output: ContentDecoder.Output) throws -> Int {
      let count = min(bytes.count, Int(UInt32.max))
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: bytes.baseAddress?.assumingMemoryBound(to: Bytef.self))
      stream.pointee.avail_in = UInt32(count)
      repeat {
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_out = UInt32(buffer.count)
        let code = CZlib.inflate(stream, Z_NO_FLUSH)
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
          throw LoadError.interrupted("the body is not \(form == .gzip ? "gzip" : "deflate"), as its header says")
        }
        let decoded = buffer[..<(buffer.count - Int(stream.pointee.avail_out))]
        if !decoded.isEmpty { try output(UnsafeRawBufferPointer(rebasing: decoded)) }
        if code == Z_STREAM_END {
          hasEnded = true
          break
        }
      } while stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0
      return count - Int(stream.pointee.avail_in)
    }
  }
#endif
