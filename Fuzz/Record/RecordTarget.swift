import Vitrine

/// Feeds arbitrary bytes to the parsers of segments: whatever they say, every range a record names lies in its bytes,
/// and nothing traps.
///
/// libFuzzer brings `main` and calls this again and again with bytes that reach new code.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneRecord(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: byteCount)
  _ = SegmentHeader(bytes)
  // A head may reach the parser alone, with a segment of any length behind it.
  for available in [byteCount, byteCount + 64, 1 << 26] {
    guard let header = RecordHeader(head: bytes, available: available) else { continue }
    precondition(header.endOfHead <= byteCount && header.endOfHead <= header.payloadOffset)
    precondition(header.payloadOffset <= available && header.byteCount >= header.payloadOffset)
    _ = header.isIntact(in: bytes, seed: 1)
    let url = part(bytes, header.urlOffset, header.urlByteCount)
    let style = part(bytes, header.styleOffset, header.styleByteCount)
    let metadata = part(bytes, header.metadataOffset, header.metadataByteCount)
    for range in [url, style, metadata] { touch(range) }
    if available == byteCount, header.carriesPayload {
      touch(part(bytes, header.payloadOffset, header.storedByteCount))
    }
    rewrite(header, url, style, metadata)
  }
  return 0
}

/// Address Sanitizer sees a range that is not the input's.
private func touch(_ range: UnsafeRawBufferPointer) {
  var sum: UInt8 = 0
  for byte in range { sum &+= byte }
  precondition(sum == sum)
}

private func part(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
  UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
}

/// What was read, written again, gives the same head, so that the encoder and the reader never part.
private func rewrite(
  _ header: RecordHeader, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
  _ metadata: UnsafeRawBufferPointer
) {
  guard header.pieceCount == 0 else { return }
  let buffer = ByteBuffer()
  header.encode(
    into: buffer, url: url, style: style, metadata: metadata,
    payload: UnsafeRawBufferPointer(start: nil, count: 0),
    seed: 1)
  guard var again = RecordHeader(head: buffer.bytes, available: 1 << 31) else {
    preconditionFailure("a record that was read cannot be read again")
  }
  precondition(again.isIntact(in: buffer.bytes, seed: 1))
  again.checksum = header.checksum
  precondition(again == header)
}
