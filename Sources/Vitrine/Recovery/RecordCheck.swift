/// Checks a record as it lies in its file, through reads, which meet a bad page or a file cut short as an error.
struct RecordCheck {
  let file: any File
  let seed: UInt64
  let offset: Int
  /// Bytes of the segment from the record on.
  let available: Int
  let firstSequence: UInt64
  let digest: (@Sendable (UnsafeRawBufferPointer) -> Digest)?

  enum Outcome {
    case intact(RecordHeader, bytesRead: Int)
    case damaged(String)
  }

  private static let firstRead = 16 << 10
  private static let pieceByteCount = 256 << 10

  /// Reads the head, and the payload when `readsPayload`. `withHead` sees a whole head before the payload is read, and
  /// answers false for a record of another key.
  func run(
    readsPayload: Bool, withHead: (RecordView) -> Bool = { _ in true }
  ) -> Outcome {
    do throws(SystemError) {
      return try check(readsPayload, withHead)
    } catch {
      return .damaged("\(error)")
    }
  }

  private func check(_ readsPayload: Bool, _ withHead: (RecordView) -> Bool) throws(SystemError) -> Outcome {
    let scratch = ThreadContext.current.scratch
    try read(into: scratch, count: min(available, RecordCheck.firstRead))
    guard var header = RecordHeader(head: scratch.bytes, available: available) ?? longHeader(scratch) else {
      return .damaged("no record is there")
    }
    if header.endOfHead > scratch.bytes.count {
      try read(into: scratch, count: header.endOfHead)
      guard let again = RecordHeader(head: scratch.bytes, available: available) else {
        return .damaged("no record is there")
      }
      header = again
    }
    guard header.isIntact(in: scratch.bytes, seed: seed) else { return .damaged("the record's head fails its check") }
    guard header.sequence >= firstSequence else { return .damaged("the record is a leftover of a lost opening") }
    guard withHead(RecordView(header: header, bytes: scratch.bytes)) else { return .damaged("another key is there") }
    guard readsPayload, header.carriesPayload else { return .intact(header, bytesRead: header.endOfHead) }
    let bytesRead = header.payloadOffset + header.storedByteCount
    guard try payloadDigest(header, scratch) == header.digest else {
      return .damaged("the payload fails its check")
    }
    return .intact(header, bytesRead: bytesRead)
  }

  /// A head longer than the first read: its own fields say how long it is, before they can be trusted.
  private func longHeader(_ scratch: ByteBuffer) -> RecordHeader? {
    guard scratch.count == RecordCheck.firstRead, available > scratch.count else { return nil }
    let longest = RecordHeader.fixedByteCount + 32 + 8 * 4096 + 65536 + 255 + 65536
    guard (try? read(into: scratch, count: min(available, longest))) != nil else { return nil }
    return RecordHeader(head: scratch.bytes, available: available)
  }

  private func payloadDigest(_ header: RecordHeader, _ scratch: ByteBuffer) throws(SystemError) -> Digest? {
    let end = header.payloadOffset + header.storedByteCount
    if header.encoding == .zstd {
      if end > scratch.count { try read(into: scratch, count: end) }
      guard scratch.count >= end else { return nil }
      let stored = UnsafeRawBufferPointer(rebasing: scratch.bytes[header.payloadOffset..<end])
      let context = ThreadContext.current
      guard let value = context.decompress(stored, byteCount: header.logicalByteCount) else { return nil }
      defer { context.releaseValue() }
      return digest?(value) ?? Digest(of: value)
    }
    if end <= scratch.count || digest != nil {
      if end > scratch.count { try read(into: scratch, count: end) }
      guard scratch.count >= end else { return nil }
      let value = UnsafeRawBufferPointer(rebasing: scratch.bytes[header.payloadOffset..<end])
      return digest?(value) ?? Digest(of: value)
    }
    let stream = DigestStream()
    var next = header.payloadOffset
    while next < end {
      let count = min(RecordCheck.pieceByteCount, end - next)
      try read(into: scratch, count: count, at: next)
      guard scratch.count == count else { return nil }
      stream.update(scratch.bytes)
      next += count
    }
    return stream.finish()
  }

  private func read(into buffer: ByteBuffer, count: Int, at start: Int = 0) throws(SystemError) {
    var failure: SystemError?
    buffer.withSpace(count) { space in
      do throws(SystemError) {
        return try file.read(into: space, at: offset + start)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
  }
}
