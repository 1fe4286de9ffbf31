/// A record in mapped memory, valid while its segment is pinned or the commit lock is held. For segments that are
/// not mapped: the head of a record, in memory that the view keeps.
package struct RecordView {
  package let header: RecordHeader
  /// From the record's start to its segment's end, or as far as it was copied.
  package let bytes: UnsafeRawBufferPointer
  package let copy: RecordCopy?

  package init(header: RecordHeader, bytes: UnsafeRawBufferPointer) {
    self.header = header
    self.bytes = bytes
    copy = nil
  }

  package init(header: RecordHeader, copy: RecordCopy) {
    self.header = header
    bytes = copy.head.bytes
    self.copy = copy
  }

  /// The record without its payload and without the padding before the payload.
  package var head: UnsafeRawBufferPointer { range(0, header.endOfHead) }
  package var url: UnsafeRawBufferPointer { range(header.urlOffset, header.urlByteCount) }
  package var style: UnsafeRawBufferPointer { range(header.styleOffset, header.styleByteCount) }
  package var metadata: UnsafeRawBufferPointer { range(header.metadataOffset, header.metadataByteCount) }
  /// The stored payload; nil in a reference and in a copy of a head.
  package var payload: UnsafeRawBufferPointer? {
    guard header.carriesPayload, copy == nil else { return nil }
    return range(header.payloadOffset, header.storedByteCount)
  }

  @inline(__always)
  private func range(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  /// Returns whether the record is a style of this URL.
  package func has(url: UnsafeRawBufferPointer) -> Bool {
    header.urlByteCount == url.count && equalBytes(bytes.baseAddress! + header.urlOffset, url)
  }

  @inline(__always)
  package func has(url: UnsafeRawBufferPointer, style: UnsafeRawBufferPointer) -> Bool {
    header.urlByteCount == url.count && header.styleByteCount == style.count
      && equalBytes(bytes.baseAddress! + header.urlOffset, url)
      && equalBytes(bytes.baseAddress! + header.styleOffset, style)
  }
}
