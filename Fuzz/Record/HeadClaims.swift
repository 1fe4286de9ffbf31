import FuzzSupport
import Synchronization

@testable import Vitrine

/// The claims about any bytes as the head of a record.
enum HeadClaims {
  static func check(_ bytes: UnsafeRawBufferPointer) {
    _ = SegmentHeader(bytes)
    glanceUnchecked(bytes)
    // A head may reach the parser alone, with a segment of any length behind it.
    for available in [bytes.count, bytes.count + 64, 1 << 26] {
      guard let header = RecordHeader(head: bytes, available: available) else { continue }
      claim(header.endOfHead <= bytes.count && header.endOfHead <= header.payloadOffset, "a head past its bytes")
      claim(header.payloadOffset <= available && header.byteCount >= header.payloadOffset, "a payload past its segment")
      _ = header.isIntact(in: bytes, seed: 1)
      let url = part(bytes, header.urlOffset, header.urlByteCount)
      let style = part(bytes, header.styleOffset, header.styleByteCount)
      let metadata = part(bytes, header.metadataOffset, header.metadataByteCount)
      for range in [url, style, metadata] { touch(range) }
      if available == bytes.count {
        if header.carriesPayload { touch(part(bytes, header.payloadOffset, header.storedByteCount)) }
        glance(bytes, header, url, style)
      }
      rewrite(header, url, style, metadata)
    }
  }

  /// A hit glances at the head before any check. For any bytes, the ranges that it finds lie within them.
  private static func glanceUnchecked(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= RecordHeader.fixedByteCount, let start = bytes.baseAddress else { return }
    let flags = RecordHeader.Flags(rawValue: start.u16(6))
    var offset = RecordHeader.fixedByteCount
    for flag in [RecordHeader.Flags.layout, .source] where flags.contains(flag) { offset += 16 }
    if flags.contains(.pieces) {
      offset += 8 * RecordHeader.pieceCount(Int(min(start.u64(48), UInt64(RecordHeader.largestPayload))))
    }
    let (urlByteCount, styleByteCount) = (Int(start.u32(80)), Int(start.u16(92)))
    guard offset + urlByteCount + styleByteCount <= bytes.count else { return }
    let url = part(bytes, offset, urlByteCount)
    let style = part(bytes, offset + urlByteCount, styleByteCount)
    guard let glance = RecordGlance(bytes, url: url, style: style) else { return }
    if glance.carriesPayload { touch(glance.payload) }
    if let source = Source([1, 2, 3]) { _ = glance.has(source) }
  }

  /// The glance finds the same ranges as a full read.
  private static func glance(
    _ bytes: UnsafeRawBufferPointer, _ header: RecordHeader, _ url: UnsafeRawBufferPointer,
    _ style: UnsafeRawBufferPointer
  ) {
    guard let glance = RecordGlance(bytes, url: url, style: style) else {
      claim(header.endOfHead > header.payloadOffset, "a whole record that a glance does not see")
      return
    }
    claim(glance.urlOffset == header.urlOffset, "a glance sees the URL elsewhere")
    claim(glance.carriesPayload == header.carriesPayload && glance.sequence == header.sequence, "another record")
    if header.carriesPayload {
      claim(glance.payload.count == header.storedByteCount, "a glance sees another payload")
      touch(glance.payload)
    }
    if let source = header.source { claim(glance.has(source), "a glance sees another source") }
  }

  /// Address Sanitizer finds a range outside the input.
  private static func touch(_ range: UnsafeRawBufferPointer) {
    var sum: UInt8 = 0
    for byte in range { sum &+= byte }
    touched.store(sum, ordering: .relaxed)
  }

  /// Keeps the optimizer from removing the reads.
  private static let touched = Atomic<UInt8>(0)

  private static func part(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  /// The parsed head, written again, gives the same head: encoder and reader agree.
  private static func rewrite(
    _ header: RecordHeader, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
    _ metadata: UnsafeRawBufferPointer
  ) {
    guard header.pieceCount == 0 else { return }
    let buffer = ByteBuffer()
    header.encode(
      into: buffer, url: url, style: style, metadata: metadata, payload: UnsafeRawBufferPointer(start: nil, count: 0),
      seed: 1)
    guard var again = RecordHeader(head: buffer.bytes, available: 1 << 31) else {
      refute("a record that was read cannot be read again")
    }
    claim(again.isIntact(in: buffer.bytes, seed: 1), "a record just written fails its check")
    again.checksum = header.checksum
    claim(again == header, "a record is another once it is written")
  }
}
