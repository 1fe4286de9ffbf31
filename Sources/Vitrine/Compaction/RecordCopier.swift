/// Reads records whole, checks them, and makes the heads of their copies. Used by one thread at a time.
///
/// Checks and copies the same bytes. Reads them from the file, not from the mapping, so a bad page is an error.
final class RecordCopier {
  private let window = SegmentWindow()
  private let headBuffer = ByteBuffer()
  /// The record that was read, from its head's first byte on.
  private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  private(set) var header: RecordHeader?

  /// Reads the record at `offset` of a file and checks all of it. Returns false if any part fails.
  func read(
    _ file: any File, offset: Int, available: Int, seed: UInt64, firstSequence: UInt64,
    digest: (@Sendable (UnsafeRawBufferPointer) -> Digest)?
  ) -> Bool {
    header = nil
    // A record that fails may be restored from the log before the next read, so the window must not keep its bytes.
    defer { if header == nil { window.forget() } }
    func read(_ count: Int) -> Bool {
      guard let found = try? window.bytes(of: file, at: offset, count: count, before: offset + available) else {
        return false
      }
      bytes = found
      return true
    }
    guard read(RecordHeader.fixedByteCount), bytes.count >= RecordHeader.fixedByteCount else { return false }
    if let wanted = HeadReader.wanted(bytes, available: available), !read(wanted) { return false }
    guard let found = RecordHeader(head: bytes, available: available) else { return false }
    let end = found.carriesPayload ? found.payloadOffset + found.storedByteCount : found.payloadOffset
    guard bytes.count >= end || read(end), bytes.count >= end, found.isIntact(in: bytes, seed: seed),
      found.sequence >= firstSequence
    else { return false }
    if found.carriesPayload, !isIntact(found, digest) { return false }
    header = found
    return true
  }

  private func isIntact(
    _ header: RecordHeader, _ digest: (@Sendable (UnsafeRawBufferPointer) -> Digest)?
  ) -> Bool {
    let stored = UnsafeRawBufferPointer(
      rebasing: bytes[header.payloadOffset..<header.payloadOffset + header.storedByteCount])
    guard header.encoding == .zstd else { return (digest?(stored) ?? Digest(of: stored)) == header.digest }
    let context = ThreadContext.current
    guard let value = context.decompress(stored, byteCount: header.logicalByteCount) else { return false }
    defer { context.releaseValue() }
    return (digest?(value) ?? Digest(of: value)) == header.digest
  }

  /// Bytes of the copy's head, without padding.
  var headByteCount: Int { header?.endOfHead ?? 0 }
  var isPageAligned: Bool { header?.isPlacedOnPage ?? false }
  /// The payload as stored; empty if the record carries none.
  var payload: UnsafeRawBufferPointer {
    guard let header, let payload = RecordView(header: header, bytes: bytes).payload else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return payload
  }
  /// The head of the copy, after ``makeHead(payloadOffset:seed:)``.
  var head: UnsafeRawBufferPointer { headBuffer.bytes }

  /// Makes the head of the record's copy. `payloadOffset` counts from the start of the copy. `seed` is that of the
  /// new place.
  func makeHead(payloadOffset: Int, seed: UInt64) {
    guard let header else { return }
    let view = RecordView(header: header, bytes: bytes)
    var copy = header
    copy.payloadOffset = payloadOffset
    headBuffer.removeAll()
    copy.encode(
      into: headBuffer, url: view.url, style: view.style, metadata: view.metadata,
      payload: UnsafeRawBufferPointer(start: nil, count: 0), pieces: header.pieces(in: bytes), seed: seed)
  }
}
