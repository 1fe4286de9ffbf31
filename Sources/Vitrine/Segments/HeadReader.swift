/// Reads the head of a record from its segment's file: one read for almost all heads, a second one for longer ones.
package struct HeadReader {
  let file: any File
  let offset: Int
  /// Bytes of the segment from the record on.
  let available: Int

  /// Reads the first `first` bytes of the record into `buffer`, and at least its whole head. Returns nil if no
  /// record is there. Compares no checksum.
  func read(into buffer: ByteBuffer, first: Int) throws(SystemError) -> RecordHeader? {
    guard available > 0 else { return nil }
    try file.read(into: buffer, count: min(available, first), at: offset)
    if let header = RecordHeader(head: buffer.bytes, available: available) { return header }
    guard let wanted = HeadReader.wanted(buffer.bytes, available: available) else { return nil }
    try file.read(into: buffer, count: wanted, at: offset)
    return RecordHeader(head: buffer.bytes, available: available)
  }

  /// Returns the length of a head that `bytes` hold only in part; nil if no record begins there or the head is
  /// complete. The length comes from the unchecked head, so the result is bounded by the longest possible head.
  static func wanted(_ bytes: UnsafeRawBufferPointer, available: Int) -> Int? {
    guard let p = bytes.baseAddress, bytes.count >= RecordHeader.fixedByteCount, p.u32(0) == RecordHeader.magic
    else { return nil }
    let wanted = min(Int(p.u32(88)), longest, available)
    return wanted > bytes.count ? wanted : nil
  }

  /// The longest possible head, with the padding before its payload.
  private static let longest =
    RecordHeader.fixedByteCount + 32 + 8 * RecordHeader.pieceCount(RecordHeader.largestPayload)
    + RecordHeader.largestURL + 255 + RecordHeader.largestMetadata + 4096 + 64
}
