/// Checks a record in its file by reads, so a bad page or a truncated file is an error and not a signal.
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
    /// The file cannot be opened now, for example because no descriptor is left. The record may be intact, and must not
    /// be dropped.
    case unavailable(SystemError)
  }

  private static let firstRead = 4 << 10

  /// Reads the head, and the payload if `readsPayload`. `withHead` gets an intact head before the payload is read,
  /// and returns false for a record of another key.
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
    defer { scratch.removeAll(keeping: ThreadContext.mostKept) }
    let reader = HeadReader(file: file, offset: offset, available: available)
    guard let header = try reader.read(into: scratch, first: RecordCheck.firstRead) else {
      return .damaged("no record is there")
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
    return try Digest.reading(file, offset + header.payloadOffset..<offset + end, scratch)
  }

  private func read(into buffer: ByteBuffer, count: Int) throws(SystemError) {
    try file.read(into: buffer, count: count, at: offset)
  }
}
