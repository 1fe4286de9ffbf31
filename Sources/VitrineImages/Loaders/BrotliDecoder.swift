#if os(Linux)
  import CBrotli

  /// Decodes brotli by the brotli library. Ignores bytes after the end.
  final class BrotliDecoder: ContentDecoder.Layer {
    private let state: OpaquePointer
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: ContentDecoder.pieceByteCount, alignment: 16)
    private(set) var hasEnded = false

    init() throws {
      guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
        throw LoadError.interrupted("brotli has no memory")
      }
      self.state = state
    }

    deinit {
      BrotliDecoderDestroyInstance(state)
      buffer.deallocate()
    }

    func decode(_ bytes: UnsafeRawBufferPointer, _ output: ContentDecoder.Output) throws {
      var input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      var inputCount = bytes.count
      while !hasEnded {
        var place = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var room = buffer.count
        let result = BrotliDecoderDecompressStream(state, &inputCount, &input, &room, &place, nil)
        if result == BROTLI_DECODER_RESULT_ERROR {
          throw LoadError.interrupted("the body is not brotli, as its header says")
        }
        let decoded = buffer[..<(buffer.count - room)]
        if !decoded.isEmpty { try output(UnsafeRawBufferPointer(rebasing: decoded)) }
        hasEnded = result == BROTLI_DECODER_RESULT_SUCCESS
        if result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT { return }
      }
    }
  }
#endif
