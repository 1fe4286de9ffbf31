import CVitrineSystem
import CZstd

/// State that a thread keeps between calls: zstd contexts, which are expensive to make, and buffers for heads and
/// for decompressed or copied values, one for each level of nested borrows.
///
/// After a large value, a thread keeps at most ``mostKept`` bytes of each buffer for heads and compressed bytes, and
/// ``mostKeptOfValue`` bytes of the compressor and of each of ``levelsKept`` value buffers.
///
/// Invariant: reached only from its own thread, through ``current``; freed when the thread ends.
final class ThreadContext {
  private var compressor: OpaquePointer?
  private var decompressor: OpaquePointer?
  private(set) var values: [ByteBuffer] = []
  /// The number of nested borrows that use `values` now.
  private var depth = 0
  /// Identifies the thread: no later thread has the same token while a reference to it exists.
  let token = Token()
  final class Token: Sendable {}
  static let mostKept = 1 << 20
  static let mostKeptOfValue = 4 << 20
  static let levelsKept = 2
  let head = ByteBuffer(capacity: 1024)
  let compressed = ByteBuffer(capacity: 4096)
  let scratch = ByteBuffer(capacity: 32 << 10)
  /// While set, a change on this thread notes the frame to wait for, and does not wait (``Syncer/upToFrame(_:)``).
  var leavesFrames = false
  /// The newest frame that was not waited for, and the owner of its log.
  var frameLeft: (sequence: UInt64, syncer: AnyObject)?

  static var current: ThreadContext {
    if let value = vitrine_thread_value() {
      return Unmanaged<ThreadContext>.fromOpaque(value).takeUnretainedValue()
    }
    let made = ThreadContext()
    vitrine_set_thread_value(Unmanaged.passRetained(made).toOpaque()) { value in
      if let value { Unmanaged<ThreadContext>.fromOpaque(value).release() }
    }
    return made
  }

  deinit {
    if let compressor { ZSTD_freeCCtx(compressor) }
    if let decompressor { ZSTD_freeDCtx(decompressor) }
  }

  /// The bytes that the thread keeps now.
  var retainedByteCount: Int {
    (compressor.map { ZSTD_sizeof_CCtx($0) } ?? 0) + (decompressor.map { ZSTD_sizeof_DCtx($0) } ?? 0)
      + ([head, compressed, scratch] + values).reduce(0) { $0 + $1.capacity }
  }

  /// Returns the bytes compressed into this thread's buffer, valid until ``releaseCompressed()`` or the next call;
  /// nil if that does not save an eighth.
  func compress(_ bytes: UnsafeRawBufferPointer, level: Int) -> UnsafeRawBufferPointer? {
    if compressor == nil { compressor = ZSTD_createCCtx() }
    guard let compressor else { return nil }
    // A bound of seven eighths makes zstd give up early on bytes that shrink less.
    let limit = bytes.count - bytes.count / 8
    var written = 0
    compressed.withSpace(limit) { space in
      let result = ZSTD_compressCCtx(
        compressor, space.baseAddress, space.count, bytes.baseAddress, bytes.count, Int32(level))
      written = ZSTD_isError(result) == 0 ? result : 0
      return written
    }
    // At high levels, the compressor takes tens of megabytes for a large value.
    if ZSTD_sizeof_CCtx(compressor) > ThreadContext.mostKeptOfValue {
      ZSTD_freeCCtx(compressor)
      self.compressor = nil
    }
    if written == 0 { releaseCompressed() }
    return written > 0 ? compressed.bytes : nil
  }

  func releaseCompressed() { compressed.removeAll(keeping: ThreadContext.mostKept) }

  /// Decompresses exactly `byteCount` bytes into a buffer that stays until ``releaseValue()``; nil if the bytes are
  /// not a valid frame of that length. If so few bytes cannot have that length, nothing is allocated.
  func decompress(_ bytes: UnsafeRawBufferPointer, byteCount: Int) -> UnsafeRawBufferPointer? {
    guard ZSTD_getFrameContentSize(bytes.baseAddress, bytes.count) == UInt64(byteCount),
      byteCount <= (bytes.count / ThreadContext.leastBlock + 1) * ThreadContext.mostOfBlock
    else { return nil }
    if decompressor == nil { decompressor = ZSTD_createDCtx() }
    guard let decompressor else { return nil }
    return value(byteCount: byteCount) { space in
      let result = ZSTD_decompressDCtx(decompressor, space.baseAddress, byteCount, bytes.baseAddress, bytes.count)
      return ZSTD_isError(result) == 0 && result == byteCount
    }
  }

  /// In zstd (RFC 8878), a block has a head of three bytes and at least one byte more, and yields at most 128 KiB.
  private static let leastBlock = 4
  private static let mostOfBlock = 128 << 10

  /// Returns exactly `byteCount` bytes that `fill` writes into a buffer that stays until ``releaseValue()``; nil if
  /// `fill` returns false.
  func value(byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Bool) -> UnsafeRawBufferPointer? {
    if values.count == depth { values.append(ByteBuffer(capacity: max(byteCount, 64))) }
    let value = values[depth]
    var isWhole = false
    value.withSpace(byteCount) { space in
      isWhole = fill(space)
      return isWhole ? byteCount : 0
    }
    guard isWhole else {
      value.removeAll(keeping: ThreadContext.mostKeptOfValue)
      return nil
    }
    depth += 1
    return value.bytes
  }

  func releaseValue() {
    depth -= 1
    values[depth].removeAll(keeping: ThreadContext.mostKeptOfValue)
    if depth >= ThreadContext.levelsKept { values.removeLast(values.count - depth) }
  }
}
