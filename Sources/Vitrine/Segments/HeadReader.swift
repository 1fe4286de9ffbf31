/// Reads the head of a record from its segment's file: one read for almost all, a second one for those that are longer.
package struct HeadReader {
  let file: any File
  let offset: Int
  /// Bytes of the segment from the record on.
  let available: Int

  /// Leaves the first `first` bytes of the record in `buffer`, and at least its head. Nil when no record is there.
  /// Compares no checksum.
  func read(into buffer: ByteBuffer, first: Int) throws(SystemError) -> RecordHeader? {
    guard available > 0 else { return nil }
    try file.read(into: buffer, count: min(available, first), at: offset)
    if let header = RecordHeader(head: buffer.bytes, available: available) { return header }
    guard let wanted = HeadReader.wanted(buffer.bytes, available: available) else { return nil }
    try file.read(into: buffer, count: wanted, at: offset)
    return RecordHeader(head: buffer.bytes, available: available)
  }

  /// How long a head is that `bytes` hold only in part; nil where no record begins or all of the head is there. The head's own
  /// field says so before it can be trusted, so the answer is bounded by the longest head there is.
  static func wanted(_ bytes: UnsafeRawBufferPointer, available: Int) -> Int? {
    guard let p = bytes.baseAddress, bytes.count >= RecordHeader.fixedByteCount, p.u32(0) == RecordHeader.magic
    else { return nil }
    let wanted = min(Int(p.u32(88)), longest, available)
    return wanted > bytes.count ? wanted : nil
  }

  /// No head is longer, with the room before its payload.
  private static let longest =
    RecordHeader.fixedByteCount + 32 + 8 * RecordHeader.pieceCount(RecordHeader.largestPayload)
    + RecordHeader.largestURL + 255 + RecordHeader.largestMetadata + 4096 + 64
}
