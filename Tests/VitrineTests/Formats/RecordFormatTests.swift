import Testing

@testable import Vitrine

/// A record and its parts.
struct GoldenRecord: CustomTestStringConvertible {
  /// Without the payload, which may have 1 MiB.
  var testDescription: String { "\(header.kind), \(header.encoding), \(header.flags)" }

  var header: RecordHeader
  var url = Array("https://example.com/a.jpg".utf8)
  var style = Array("square-60@2x".utf8)
  var metadata = Array("image/jpeg".utf8)
  var payload: [UInt8] = Array("the bytes of the picture".utf8)
  static let seed = RecordHeader.seed(store: goldenStore, segment: 7, offset: 128)

  static func make(_ change: (inout RecordHeader) -> Void = { _ in }) -> GoldenRecord {
    var header = RecordHeader(
      kind: .payload, encoding: .plain, flags: [], sequence: 3 << 36 | 5, origin: 2 << 36 | 4,
      digest: Digest(high: 0x1112_1314_1516_1718, low: 0x2122_2324_2526_2728), storedByteCount: 24,
      logicalByteCount: 24, expiration: 0x0000_0190_0000_0001, written: 0x0000_0190_0000_0002,
      urlByteCount: 25, styleByteCount: 12, metadataByteCount: 10, payloadOffset: 192, layout: nil)
    change(&header)
    return GoldenRecord(header: header)
  }

  /// A record at its limits: a bitmap with a source, over the threshold of piece checksums.
  static func full() -> GoldenRecord {
    let layout = BitmapLayout(width: 640, height: 512, bytesPerRow: 2560, format: .bgra8888)!
    var record = make { header in
      header.encoding = .bitmap
      header.flags = [.layout, .source, .pieces, .pageAligned, .namedSource, .sliding]
      header.layout = layout
      header.source = Source([1, 2, 3, 4, 5, 6, 7, 8])
      header.storedByteCount = layout.byteCount
      header.logicalByteCount = layout.byteCount
      header.payloadOffset = 256
    }
    record.payload = noise(layout.byteCount, 3)
    return record
  }

  /// The head, padded to the payload.
  var head: [UInt8] {
    let buffer = ByteBuffer()
    url.withUnsafeBytes { url in
      style.withUnsafeBytes { style in
        metadata.withUnsafeBytes { metadata in
          payload.withUnsafeBytes { payload in
            header.encode(
              into: buffer, url: url, style: style, metadata: metadata, payload: payload, seed: Self.seed)
          }
        }
      }
    }
    return Array(buffer.bytes)
  }

  var bytes: [UInt8] { head + payload }

  static func isTaken(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      RecordHeader(bytes).map { $0.isIntact(in: bytes, seed: seed) } ?? false
    }
  }
}

@Suite struct RecordFormatTests {
  @Test func aPlainRecordHasExactlyTheseBytes() {
    #expect(
      hexText(GoldenRecord.make().head)
        == hexText(
          hex(
            """
            5652454301000000c8c1065b3d4b2d1805000000300000000400000020000000
            2827262524232221181716151413121118000000000000001800000000000000
            01000000900100000200000090010000190000000a000000c00000000c000000
            68747470733a2f2f6578616d706c652e636f6d2f612e6a70677371756172652d
            3630403278696d6167652f6a7065670000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            """)))
  }

  @Test func aBitmapWithSourceAndPiecesHasExactlyTheseBytes() {
    #expect(
      hexText(GoldenRecord.full().head)
        == hexText(
          hex(
            """
            5652454301023f008721cf473c5030ad05000000300000000400000020000000
            2827262524232221181716151413121100001400000000000000140000000000
            01000000900100000200000090010000190000000a000000000100000c000800
            8002000000020000000a00000100000001020304050607080000000000000000
            a6c6cface8f7ecc653682fa0d156a98bb8abc8bec796b7ed6e6836f82167eec1
            cd2e218635aaf57b68747470733a2f2f6578616d706c652e636f6d2f612e6a70
            677371756172652d3630403278696d6167652f6a706567000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            """)))
  }

  @Test(arguments: [GoldenRecord.make(), .full()])
  func aRecordIsReadBackAsItWasWritten(_ record: GoldenRecord) throws {
    try record.bytes.withUnsafeBytes { bytes in
      var read = try #require(RecordHeader(bytes))
      #expect(read.isIntact(in: bytes, seed: GoldenRecord.seed))
      let view = RecordView(header: read, bytes: bytes)
      #expect(Array(view.url) == record.url)
      #expect(Array(view.style) == record.style)
      #expect(Array(view.metadata) == record.metadata)
      #expect(view.payload.map { Array($0) } == record.payload)
      read.checksum = 0
      #expect(read == record.header)
    }
  }

  @Test func flagsThatContradictTheFieldsAreRefused() {
    func isTaken(_ change: (inout RecordHeader) -> Void) -> Bool {
      GoldenRecord.isTaken(GoldenRecord.make(change).bytes)
    }
    #expect(!isTaken { $0.flags = .namedSource })
    #expect(
      !isTaken {
        $0.flags = .sliding
        $0.expiration = 0
      })
    #expect(
      !isTaken {
        $0.flags = .sliding
        $0.expiration = -1
      })
    for (count, isNamed, taken) in [(15, true, true), (16, true, true), (16, false, true), (15, false, false)] {
      #expect(
        isTaken {
          $0.flags = isNamed ? [.source, .namedSource] : .source
          $0.source = Source(noise(count))
        } == taken)
    }
    #expect(!isTaken { $0.flags = RecordHeader.Flags(rawValue: 128) })
  }

  @Test func aReferenceIsReadBackWithoutAPayload() throws {
    let record = GoldenRecord.make { $0.kind = .reference }
    try record.head.withUnsafeBytes { bytes in
      let read = try #require(RecordHeader(bytes))
      #expect(!read.carriesPayload && read.payloadUnits == 0 && read.byteCount == 192)
      #expect(RecordView(header: read, bytes: bytes).payload == nil)
    }
  }

  @Test func aChangedOrShortRecordIsRefused() {
    let record = GoldenRecord.make()
    expectRefusals(
      of: record.bytes, covered: 0..<record.header.endOfHead, accepts: GoldenRecord.isTaken)
  }

  @Test func aChangedBitmapRecordIsRefused() {
    let record = GoldenRecord.full()
    expectRefusals(
      of: record.bytes, covered: 0..<record.header.endOfHead, needs: 300, accepts: GoldenRecord.isTaken)
  }

  @Test func paddingBehindTheMetadataIsNotCovered() {
    let record = GoldenRecord.make()
    var bytes = record.bytes
    for index in record.header.endOfHead..<record.header.payloadOffset { bytes[index] ^= 0xFF }
    #expect(GoldenRecord.isTaken(bytes))
  }

  @Test func recordAtAnotherPlaceIsRejected() {
    let seeds = [
      RecordHeader.seed(store: goldenStore, segment: 7, offset: 192),
      RecordHeader.seed(store: goldenStore, segment: 8, offset: 128),
      RecordHeader.seed(store: StoreID(low: 1, high: goldenStore.high), segment: 7, offset: 128),
      RecordHeader.seed(store: StoreID(low: goldenStore.low, high: 1), segment: 7, offset: 128),
    ]
    GoldenRecord.make().bytes.withUnsafeBytes { bytes in
      let header = RecordHeader(bytes)!
      for seed in seeds { #expect(!header.isIntact(in: bytes, seed: seed)) }
    }
  }

  /// Every length field set to an invalid value: refused before any read or allocation for it.
  @Test(arguments: [GoldenRecord.make(), .full()])
  func lengthsThatReachTooFarAreRefused(_ record: GoldenRecord) {
    let bytes = record.bytes
    let fields: [(offset: Int, byteCount: Int)] = [
      (48, 8), (56, 8), (80, 4), (84, 4), (88, 4), (92, 2), (94, 1),
    ]
    for field in fields {
      for value: UInt64 in [1 << 31, 1 << 32 - 1, 1 << 32, 1 << 62, 1 << 63, .max - 63, .max] {
        var changed = bytes
        withUnsafeBytes(of: value.littleEndian) { little in
          for index in 0..<field.byteCount { changed[field.offset + index] = little[index] }
        }
        if changed == bytes { continue }
        let isTaken = changed.withUnsafeBytes { RecordHeader($0) } != nil
        // The rest of the number may be a valid length by chance; then the checksum must differ.
        if isTaken { #expect(!GoldenRecord.isTaken(changed), "\(field.offset) \(value)") }
      }
    }
  }

  @Test func noContentTrapsTheParser() {
    var random = SeededRandom(seed: 42)
    let golden = [GoldenRecord.make().bytes, GoldenRecord.full().head]
    for _ in 0..<20_000 {
      var bytes = golden[random.below(2)]
      for _ in 0...random.below(6) {
        let index = random.below(100)
        bytes[index] = [0, 1, 0x7F, 0x80, 0xFF, UInt8(random.below(256))][random.below(6)]
      }
      bytes.removeLast(random.below(bytes.count))
      bytes.withUnsafeBytes { bytes in
        guard let header = RecordHeader(bytes) else { return }
        let view = RecordView(header: header, bytes: bytes)
        #expect(view.url.count + view.style.count + view.metadata.count + (view.payload?.count ?? 0) <= bytes.count)
        _ = header.isIntact(in: bytes, seed: 1)
      }
    }
  }
}
