import CZstd

/// The bytes of a zstd file: one frame or several in a row.
final class ZstdBytes: TraceBytes {
  private var packed: PackedBytes
  private let context: OpaquePointer
  /// Whether a frame has begun and not ended.
  private var isInFrame = false

  init(_ source: any TraceBytes) throws {
    packed = PackedBytes(source)
    guard let context = ZSTD_createDCtx() else { throw Failure("zstd has no memory") }
    self.context = context
  }

  deinit { ZSTD_freeDCtx(context) }

  /// zstd itself refuses frames that need more than 128 MiB of memory.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
    // The decompressor may hold bytes back that did not fit the last time, so it is called before the packed bytes end.
    while output.pos == 0 {
      let isAtEnd = try packed.isEmpty()
      if isAtEnd, !isInFrame { return 0 }
      var result = 0
      var taken = 0
      packed.take { bytes in
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        result = ZSTD_decompressStream(context, &output, &input)
        taken = input.pos
        return input.pos
      }
      if ZSTD_isError(result) != 0 {
        throw TraceDamage(reason: "the zstd data is damaged (\(String(cString: ZSTD_getErrorName(result))))")
      }
      isInFrame = result != 0
      if isAtEnd, isInFrame, taken == 0, output.pos == 0 {
        throw TraceDamage(reason: "the zstd data is cut short")
      }
    }
    return output.pos
  }
}
