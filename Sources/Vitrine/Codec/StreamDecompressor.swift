import CZstd

/// Decompresses one zstd frame (RFC 8878) piece by piece. Takes memory for the frame's window and for blocks. At the
/// levels that a store uses, the window has at most 8 MiB. A frame with a larger window is an error.
struct StreamDecompressor: ~Copyable {
  /// The state after some bytes of the frame.
  enum Outcome {
    /// The frame needs more bytes.
    case unfinished
    /// The frame has ended. Bytes behind its end are ignored.
    case ended
    /// `body` has asked for no more.
    case stopped
    /// The bytes are no valid frame.
    case failed
  }

  private let context: OpaquePointer
  private let block: UnsafeMutableRawBufferPointer
  private static let largestWindowLog: Int32 = 23

  /// Returns nil if memory is short.
  init?() {
    guard let context = ZSTD_createDCtx() else { return nil }
    self.context = context
    block = .allocate(byteCount: ZSTD_DStreamOutSize(), alignment: 64)
    _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, StreamDecompressor.largestWindowLog)
  }

  deinit {
    ZSTD_freeDCtx(context)
    block.deallocate()
  }

  /// Takes the next bytes of the frame. Calls `body` with each piece of the value, until `body` returns false. A piece
  /// is valid during the call.
  func append(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
    var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
    while true {
      var output = ZSTD_outBuffer(dst: block.baseAddress, size: block.count, pos: 0)
      let rest = ZSTD_decompressStream(context, &output, &input)
      if ZSTD_isError(rest) != 0 { return .failed }
      if output.pos > 0, !body(UnsafeRawBufferPointer(rebasing: block[..<output.pos])) { return .stopped }
      if rest == 0 { return .ended }
      // A full block means that more of the value may be ready.
      if input.pos == input.size, output.pos < output.size { return .unfinished }
    }
  }
}
