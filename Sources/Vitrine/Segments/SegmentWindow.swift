/// Reads a segment's file a stretch at a time, for records read mostly in file order.
///
/// A stretch near the previous one is twice as long, up to 256 KiB; any other is 4 KiB. So adjacent records cost
/// few reads, and a single record little more than its own bytes. Use from one thread.
final class SegmentWindow {
  private static let least = 4 << 10
  private static let most = 256 << 10

  private let buffer = ByteBuffer(capacity: SegmentWindow.least)
  /// Invariant: `buffer` holds the bytes of this file from `start` on; empty when it is nil.
  private var file: (any File)?
  private var start = 0
  private var stretch = SegmentWindow.least

  /// Returns `count` bytes from `offset` on, and all bytes read behind them; fewer if `limit` or the file's end
  /// comes first. Valid until the next call.
  func bytes(
    of file: any File, at offset: Int, count: Int, before limit: Int
  ) throws(SystemError) -> UnsafeRawBufferPointer {
    let count = max(0, min(count, limit - offset))
    let end = start + buffer.count
    let isSame = self.file === file && offset >= start
    if !isSame || offset + count > end {
      let isNear = isSame && offset <= end + SegmentWindow.least
      stretch = isNear ? min(stretch * 2, SegmentWindow.most) : SegmentWindow.least
      self.file = nil
      try file.read(into: buffer, count: max(0, min(max(count, stretch), limit - offset)), at: offset)
      self.file = file
      start = offset
    }
    let first = min(offset - start, buffer.count)
    let last = min(buffer.count, first + max(0, limit - offset))
    return UnsafeRawBufferPointer(rebasing: buffer.bytes[first..<last])
  }

  /// Makes the next call read the file again.
  func forget() { file = nil }
}
