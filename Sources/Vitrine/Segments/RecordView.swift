/// A record in mapped memory: valid while its segment is pinned or the commit lock is held.
package struct RecordView {
  package let header: RecordHeader
  /// From the record's start to its segment's end.
  package let bytes: UnsafeRawBufferPointer

  package var url: UnsafeRawBufferPointer { range(header.urlOffset, header.urlByteCount) }
  package var style: UnsafeRawBufferPointer { range(header.styleOffset, header.styleByteCount) }
  package var metadata: UnsafeRawBufferPointer { range(header.metadataOffset, header.metadataByteCount) }
  package var payload: UnsafeRawBufferPointer {
    header.carriesPayload ? range(header.payloadOffset, header.storedByteCount) : range(0, 0)
  }

  @inline(__always)
  private func range(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  @inline(__always)
  package func has(url: UnsafeRawBufferPointer, style: UnsafeRawBufferPointer) -> Bool {
    header.urlByteCount == url.count && header.styleByteCount == style.count
      && equalBytes(bytes.baseAddress! + header.urlOffset, url)
      && equalBytes(bytes.baseAddress! + header.styleOffset, style)
  }
}
