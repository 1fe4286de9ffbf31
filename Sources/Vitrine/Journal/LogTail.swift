/// The end of a log that another opening goes on writing, as a reader follows it.
///
/// Frames are read under the seed of one use of a file. Once the writer has begun that file anew, none of them checks
/// any more: a tail may fall behind, but it never reads a frame that is not the next of its log. A frame that is being
/// written does not check either, and is read the next time.
///
/// Use from one thread at a time.
package struct LogTail {
  /// Before the first frame that was not read.
  package private(set) var end: WALPosition

  package init(end: WALPosition) { self.end = end }

  /// Hands the frames behind ``end`` to `body`, in their order, until it answers false. Answers whether everything that
  /// was stored when this was called was read; false when the way there is lost: a file has been begun anew, or the log
  /// was cut before what was read. `scan` looks at the log's files anew.
  package mutating func follow<E: Error>(
    _ scan: () throws(E) -> WALScan, _ body: ([Change]) throws(E) -> Bool
  ) throws(E) -> Bool {
    while true {
      let scan = try scan()
      guard let current = scan.file(use: end.use), let header = current.header else {
        // A store that was never written to has no log yet.
        return end.use == 0 && scan.successor(of: 0) == nil
      }
      let next = scan.successor(of: end.use)?.header
      // The cut was named after all frames before it were stored, so they are there to be read.
      guard try read(current, header.seed, before: next?.predecessorCut, body) else { return false }
      // Without a successor the log ended here, unless the file was begun anew while it was read.
      guard let next else { return WALScan.header(of: current.file, store: header.store) == header }
      guard end.offset == next.predecessorCut, end.sequence == next.predecessorSequence else { return false }
      end = WALPosition(use: next.use, offset: WALFileHeader.frameStart, sequence: next.firstSequence)
    }
  }

  private mutating func read<E: Error>(
    _ found: WALScan.Found, _ seed: UInt64, before limit: Int?, _ body: ([Change]) throws(E) -> Bool
  ) throws(E) -> Bool {
    // Most often there is nothing, and that is to be found out cheaply.
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
