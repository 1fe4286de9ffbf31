/// Reads a segment's file a stretch at a time, for records that mostly come in their order there.
///
/// A stretch near the one before is twice as long, up to 256 KiB; one elsewhere begins with 4 KiB. So records that lie side
/// by side cost few reads, and a record that stands alone costs little more than its own bytes. Use from one thread.
final class SegmentWindow {
  private static let least = 4 << 10
  private static let most = 256 << 10

  private let buffer = ByteBuffer(capacity: SegmentWindow.least)
  /// Invariant: `buffer` holds the bytes of this file from `start` on; empty when it is nil.
  private var file: (any File)?
  private var start = 0
  private var stretch = SegmentWindow.least

  /// `count` bytes from `offset` on, and all that was read behind them; fewer where `limit` comes first or the file ends.
  /// Valid until the next call.
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

  /// The next call reads the file anew.
  func forget() { file = nil }
}
