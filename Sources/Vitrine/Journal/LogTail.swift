/// The end of a log that another opening continues to write, as a reader follows it.
///
/// Frames are read under the seed of one use of a file. Once the writer has begun a new use of that file, no frame
/// passes its check. So a tail may fall behind, but it never reads a frame that is not the next of its log. A
/// half-written frame fails the check too, and is read the next time.
///
/// Use from one thread at a time.
package struct LogTail {
  /// The position before the first unread frame.
  package private(set) var end: WALPosition

  package init(end: WALPosition) { self.end = end }

  /// Passes the frames after ``end`` to `body`, in their order. Returns true once it has read all frames stored before
  /// the call. Returns false if `body` does, or if the tail has lost the log: a file has a new use, the log was cut
  /// before the tail's position, or a writer found damage there. `scan` opens the log's files again.
  package mutating func follow<E: Error>(
    _ scan: () throws(E) -> WALScan, _ body: ([Change]) throws(E) -> Bool
  ) throws(E) -> Bool {
    while true {
      let scan = try scan()
      guard let current = scan.file(use: end.use), let header = current.header else {
        // A store without a write has no log yet.
        return end.use == 0 && scan.successor(of: 0) == nil
      }
      let next = scan.successor(of: end.use)?.header
      // The cut was named after all frames before it were stored, so all of them can be read.
      guard try read(current, header.seed, before: next?.predecessorCut, body) else { return false }
      // The writer has dropped keys without a frame. Its next checkpoint has the effect.
      if next?.followsDamage ?? false { return false }
      // Without a successor the log ended here, unless the file got a new use while it was read.
      guard let next else { return WALScan.header(of: current.file, store: header.store) == header }
      guard end.offset == next.predecessorCut, end.sequence == next.predecessorSequence else { return false }
      end = WALPosition(use: next.use, offset: WALFileHeader.frameStart, sequence: next.firstSequence)
    }
  }

  private mutating func read<E: Error>(
    _ found: WALScan.Found, _ seed: UInt64, before limit: Int?, _ body: ([Change]) throws(E) -> Bool
  ) throws(E) -> Bool {
    // Most calls find no new frame, so look at the head alone first.
    let head = (try? found.file.read(end.offset..<end.offset + Frame.headerByteCount)) ?? []
    guard head.withUnsafeBytes({ Frame.byteCount($0) }) != nil else { return true }
    let window = LogWindow(found)
    let limit = min(limit ?? window.byteCount, window.byteCount)
    while let (frame, bytes) = window.frame(at: end.offset, before: limit, seed: seed),
      frame.sequence == end.sequence
    {
      guard let changes = Frame.changes(bytes, at: end.offset, frame), try body(changes) else { return false }
      end.offset += frame.byteCount
      end.sequence += 1
    }
    return true
  }
}
