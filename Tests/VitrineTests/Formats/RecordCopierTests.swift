import Testing

@testable import Vitrine

/// Compaction reads whole records from files that may be shorter than the index says.
@Suite struct RecordCopierTests {
  @Test func aRecordBeyondTheEndOfItsFileIsNotCopied() throws {
    let value = noise(700)
    var record = GoldenRecord.make { header in
      header.digest = value.withUnsafeBytes { Digest(of: $0) }
      header.encoding = .plain
      (header.logicalByteCount, header.storedByteCount) = (value.count, value.count)
    }
    record.payload = value
    let bytes = [UInt8](repeating: 0, count: 128) + record.bytes
    let end = 128 + record.header.payloadOffset + value.count
    // Its buffer still has the whole record when it reads the shorter files.
    let copier = RecordCopier()
    for count in [end, end - 1, end - value.count, 128 + RecordHeader.fixedByteCount, 128, 0] {
      let name = SegmentHeader.fileName(7)
      let folder = try MemoryDisk(["segments/\(name)": Array(bytes.prefix(count))]).openDirectory("", create: false)
        .openDirectory("segments", create: false)
      let isRead = copier.read(
        try folder.openFile(name, .readOnly), offset: 128, available: bytes.count - 128, seed: GoldenRecord.seed,
        firstSequence: 0, digest: nil)
      #expect(isRead == (count == end), "the file has \(count) bytes")
    }
  }
}
