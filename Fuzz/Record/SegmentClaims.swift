import FuzzSupport

@testable import Vitrine

/// The claims about any bytes as a segment file: the scan of a rebuild, and the check of each record with its payload.
enum SegmentClaims {
  static let store = StoreID(low: 1, high: 2)
  static let segment: UInt64 = 3

  static func check(_ bytes: [UInt8]) {
    let file = MemoryFile(bytes)
    let scanner = SegmentScanner(file: file, store: store, segment: segment)
    var last = 0
    let end = scanner.records(byteCount: bytes.count) { record in
      claim(record.offset >= last + SegmentHeader.byteCount || last > 0 && record.offset >= last, "records overlap")
      claim(record.offset % Unit.byteCount == 0, "a record at \(record.offset)")
      last = record.offset + record.header.byteCount
      claim(record.offset + record.header.payloadOffset <= bytes.count, "a record past its segment")
      read(record, file)
    }
    claim(end <= bytes.count || bytes.count < SegmentHeader.byteCount, "a segment that ends behind its end")
    // An index may point to a place where no record begins.
    for offset in stride(from: 0, through: min(bytes.count + 64, 1024), by: Unit.byteCount) { _ = read(offset, file) }
  }

  private static func read(_ record: SegmentScanner.Found, _ file: MemoryFile) {
    var sealed = file.bytes
    Seal.record(&sealed, at: record.offset, store: store, id: segment)
    // If the digest differs, the check of the payload must find it, not the check of the head.
    let isOfDigest = Seal.word(sealed, record.offset + 32) == Seal.word(file.bytes, record.offset + 32)
    claim(!isOfDigest || sealed == file.bytes, "a head with a wrong checksum is taken")
    switch read(record.offset, file) {
    case .intact(let header, let bytesRead):
      claim(header == record.header, "the scan and the check see two records")
      claim(record.offset + bytesRead <= file.bytes.count, "more was read than there is")
      if header.carriesPayload {
        claim(digest(header, record.offset, file) ?? header.digest == header.digest, "a payload")
      }
    case .damaged: break
    case .unavailable(let error): refute("\(error)")
    }
    guard
      let view = always(
        "a copy of the head",
        {
          try RecordCopy.view(file, offset: record.offset, available: file.bytes.count - record.offset)
        })
    else { refute("the scan sees a record that a read does not") }
    claim(Array(view.url) == record.url && Array(view.style) == record.style, "another key")
    claim(view.metadata.count == record.header.metadataByteCount, "other metadata")
  }

  /// Returns the digest of the payload, or nil if it is compressed.
  private static func digest(_ header: RecordHeader, _ offset: Int, _ file: MemoryFile) -> Digest? {
    guard header.encoding != .zstd else { return nil }
    let start = offset + header.payloadOffset
    return file.bytes.withUnsafeBytes {
      Digest(of: UnsafeRawBufferPointer(rebasing: $0[start..<start + header.storedByteCount]))
    }
  }

  @discardableResult
  private static func read(_ offset: Int, _ file: MemoryFile) -> RecordCheck.Outcome {
    RecordCheck(
      file: file, seed: RecordHeader.seed(store: store, segment: segment, offset: offset), offset: offset,
      available: file.bytes.count - offset, firstSequence: 0, digest: nil
    ).run(readsPayload: true)
  }
}
