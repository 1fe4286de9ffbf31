/// Reads a WAL file front to back, a stretch at a time, so that its unwritten rest is not read.
///
/// Invariant: `buffer` holds the bytes of the file from `start` on. Use from one thread.
final class LogWindow {
  private static let stretch = 256 << 10

  private let file: any File
  /// The length of the file, but at most that of the largest file that a writer makes. Bytes behind it are not part of
  /// the log.
  let byteCount: Int
  private let buffer = ByteBuffer(capacity: 4096)
  private var start = 0
  /// Part of the file could not be read: the log may continue after its apparent end.
  private(set) var hasFailed = false

  init(_ file: any File, byteCount: Int) {
    self.file = file
    self.byteCount = min(byteCount, CacheFormat.largestWALFile)
  }

  convenience init(_ found: WALScan.Found) { self.init(found.file, byteCount: found.byteCount) }

  /// Returns at least `count` bytes from `offset` on, fewer if the file ends first, none if it cannot be read.
  /// Valid until the next call.
  func bytes(at offset: Int, atLeast count: Int) -> UnsafeRawBufferPointer {
    let wanted = min(count, max(0, byteCount - offset))
    if offset < start || offset + wanted > start + buffer.count {
      let length = min(max(wanted, LogWindow.stretch), max(0, byteCount - offset))
      start = offset
      buffer.withSpace(length) { space in
        if let count = try? file.read(into: space, at: offset) { return count }
        hasFailed = true
        return 0
      }
    }
    return UnsafeRawBufferPointer(rebasing: buffer.bytes[(offset - start)...])
  }

  /// Returns the whole frame at `offset` and its bytes, if it ends before `limit`.
  func frame(
    at offset: Int, before limit: Int, seed: UInt64
  ) -> (header: Frame.Header, bytes: UnsafeRawBufferPointer)? {
    let head = bytes(at: offset, atLeast: Frame.headerByteCount)
    guard let length = Frame.byteCount(head), length <= limit - offset else { return nil }
    let bytes = bytes(at: offset, atLeast: length)
    guard let header = Frame.parse(bytes, at: offset, seed: seed) else { return nil }
    return (header, bytes)
  }

  /// Estimates the number of changes in the frames from `sequence` on, which begin at `offset`. It follows the
  /// headers unchecked. Frames of an earlier use of the file have other numbers and end it.
  func changeCount(from offset: Int, sequence: UInt64, before limit: Int) -> Int {
    var place = offset
    var sequence = sequence
    var count = 0
    while place < limit {
      let head = bytes(at: place, atLeast: Frame.headerByteCount)
      guard let length = Frame.byteCount(head), length <= limit - place,
        let changeCount = Frame.changeCount(head, sequence: sequence)
      else { break }
      count += min(changeCount, length / Change.leastByteCount)
      place += length
      sequence += 1
    }
    return count
  }

  /// Calls `body` with every whole frame from `offset` on, wherever it begins.
  func forEachFrame(
    from offset: Int, seed: UInt64, _ body: (Frame.Header, UnsafeRawBufferPointer, _ offset: Int) -> Void
  ) {
    var place = roundUp(offset, to: 8)
    while place + Frame.headerByteCount <= byteCount {
      let stretch = bytes(at: place, atLeast: Frame.headerByteCount)
      guard stretch.count >= Frame.headerByteCount else { return }
      // Most of a log file is zeros or frames of an earlier use: find a place where a frame could begin, and check
      // it only there.
      guard let found = LogWindow.candidate(in: stretch) else {
        place += roundUp(stretch.count - Frame.headerByteCount + 1, to: 8)
        continue
      }
      place += found
      if let (header, bytes) = frame(at: place, before: byteCount, seed: seed) {
        body(header, bytes, place)
        place += header.byteCount
      } else {
        place += 8
      }
    }
  }

  private static func candidate(in bytes: UnsafeRawBufferPointer) -> Int? {
    let p = bytes.baseAddress!
    var offset = 0
    while offset + Frame.headerByteCount <= bytes.count {
      if p.u32(offset) == Frame.magic { return offset }
      offset += 8
    }
    return nil
  }
}
