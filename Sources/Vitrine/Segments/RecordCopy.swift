/// The head of a record, read from its file, and the source of its payload.
///
/// Invariant: `head` changes only before a second thread has the copy: in `init`, or while `view` reads it.
package final class RecordCopy: @unchecked Sendable {
  let head: ByteBuffer
  private let file: any File
  private let offset: Int

  private static let firstRead = 4096

  private init(file: any File, offset: Int) {
    self.file = file
    self.offset = offset
    head = ByteBuffer()
  }

  private init(file: any File, offset: Int, head bytes: Slice<UnsafeRawBufferPointer>) {
    self.file = file
    self.offset = offset
    head = ByteBuffer(capacity: bytes.count)
    head.append(UnsafeRawBufferPointer(rebasing: bytes))
  }

  /// Returns nil if no record begins there, or the file ends within it.
  package static func view(_ file: any File, offset: Int, available: Int) throws(SystemError) -> RecordView? {
    let copy = RecordCopy(file: file, offset: offset)
    let reader = HeadReader(file: file, offset: offset, available: available)
    guard let header = try reader.read(into: copy.head, first: firstRead) else { return nil }
    return RecordView(header: header, copy: copy)
  }

  /// Returns a copy that keeps only the first `byteCount` bytes in memory.
  package func trimmed(to byteCount: Int) -> RecordCopy {
    RecordCopy(file: file, offset: offset, head: head.bytes.prefix(byteCount))
  }

  /// Fills `space` with the payload as stored. Returns false if the file ends first or cannot be read.
  package func readPayload(of header: RecordHeader, into space: UnsafeMutableRawBufferPointer) -> Bool {
    (try? file.read(into: space, at: offset + header.payloadOffset)) == space.count
  }
}
