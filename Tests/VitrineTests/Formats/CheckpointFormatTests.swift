import Testing
import VitrineSimulation

@testable import Vitrine

/// A small catalog and the checkpoint file that holds it.
struct GoldenCheckpoint {
  var bytes: [UInt8]
  var header: CheckpointHeader

  static let hash = KeyHash(bits: 0x4142_4344_4546_4748).stored
  static let content = ContentHash(bits: 0x8182_8384_8586_8788).stored

  static func emptyHeader() -> CheckpointHeader {
    CheckpointHeader(
      isClean: true, generation: 7, position: WALPosition(use: 5, offset: 0x1238, sequence: 3 << 36 | 9),
      opening: 3,
      nextRecord: 3 << 36 | 0x44, made: 0x190_1234_5678, nextSegment: 9,
      identity: StoreIdentityFormatTests.identity)
  }

  /// Sets both checksums of a header.
  static func sign(_ bytes: inout [UInt8]) {
    func put(_ checksum: UInt64, at offset: Int) {
      withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
    }
    put(bytes.withUnsafeBytes { CheckpointHeader.checksum($0) }, at: 504)
    put(bytes.withUnsafeBytes { CheckpointHeader.firstChecksum($0) }, at: 160)
  }

  /// One segment, one key, one blob that five keys use.
  static func make() throws -> GoldenCheckpoint {
    let index = try LoadedIndex.empty()
    let catalog = index.writer.catalog
    let segment = Segment(id: 8, slot: 0, byteCount: 0x10000, stream: .originals, state: .sealed, tail: 0x400)
    index.writer.segments[segment].live = SegmentLive(units: 6, count: 2)
    index.writer.segments.insert(segment, vouchedUpTo: 0x380, firstSequence: 3 << 36 | 1)
    let place = Location(slot: 0, offset: 0x80)
    var slot = KeySlot(hash, place, [.checked])
    slot.stamp = 0x4321
    #expect(index.writer.keyWriter.insert(slot, hash) == true)
    #expect(index.writer.contentWriter.insert(content, place, count: 5) == true)
    index.writer.keyCount = 1
    index.writer.blobCount = 1
    index.writer.logicalByteCount = 0x321
    index.writer.nextSegment = 9
    catalog.keys.clock.set(0x7654)
    catalog.useTimes.withLock { $0.note(stamp: 0x7653, time: 0x1122_3344_5566) }
    let disk = MemoryDisk(["checkpoints/0.checkpoint": []])
    let file = try disk.openDirectory("", create: true).openDirectory("checkpoints", create: true)
      .openFile("0.checkpoint", .readWrite)
    var header = emptyHeader()
    try index.writer.write(to: file, header: &header) { catalog.segments.vouchedUpTo($0.slot) }
    try file.write(header.encoded(), at: 0)
    return GoldenCheckpoint(bytes: try file.readAll(), header: header)
  }

  static func read(_ bytes: [UInt8]) -> LoadedIndex? {
    guard let header = bytes.withUnsafeBytes({ CheckpointHeader($0) }),
      let file = try? MemoryDisk(["checkpoints/0.checkpoint": bytes]).openDirectory("", create: false)
        .openDirectory("checkpoints", create: false).openFile("0.checkpoint", .readOnly)
    else { return nil }
    return LoadedIndex.read(from: file, header: header)
  }
}

@Suite struct CheckpointFormatTests {
  @Test func theHeaderHasExactlyTheseBytes() throws {
    let bytes = try GoldenCheckpoint.make().bytes
    #expect(
      hexText(Array(bytes[..<160]))
        == hexText(
          hex(
            """
            564954525f434b5001000000010000000102030405060708090a0b0c0d0e0f10
            0700000000000000050000000000000038120000000000000900000030000000
            0300000000000000440000003000000001000000000000000100000000000000
            0100000000000000010000000000000021030000000000009000000000000000
            7856341290010000090000000000000054760000000000000100000000000000
            """)))
    #expect(hexText(Array(bytes[160..<168])) == "44dd9e0f081773b3")
    #expect(Array(bytes[168..<504]) == [UInt8](repeating: 0, count: 336))
    #expect(hexText(Array(bytes[504..<512])) == "57a3ad376fba87fa")
    #expect(Array(bytes[512..<1024]) == StoreIdentityFormatTests.identity.encoded())
    #expect(Array(bytes[1024..<4096]) == [UInt8](repeating: 0, count: 3072))
  }

  @Test func theBodyHasExactlyTheseWords() throws {
    let checkpoint = try GoldenCheckpoint.make()
    let words = stride(from: 4096, to: checkpoint.bytes.count, by: 8).map { offset in
      checkpoint.bytes.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
      }
    }
    let place: UInt64 = 0x80 >> 6
    var body: [UInt64] = [0, 8, 0x10000, 2, 0x400, 6, 2, 0x380, 3 << 36 | 1]
    // The key is in shard 0x10, the blob in shard 0x20: the upper six bits of their hashes.
    for shard in 0..<64 { body += shard == 0x10 ? [1, place | 0x4748 << 48, 0x4321_5090_D111] : [0] }
    for shard in 0..<64 { body += shard == 0x20 ? [1, place | 0x60A0E1 << 40] : [0] }
    body += [place, 5]
    body += [0x7653, 0x1122_3344_5566]
    #expect(words[1] == UInt64(body.count) << 32, "index and words of the block")
    #expect(Array(words[2...]) == body)
    #expect(checkpoint.header.bodyWordCount == body.count)
  }

  @Test func aCheckpointIsReadBackAsItWasWritten() throws {
    let checkpoint = try GoldenCheckpoint.make()
    #expect(checkpoint.bytes.withUnsafeBytes { CheckpointHeader($0) } == checkpoint.header)
    let index = try #require(GoldenCheckpoint.read(checkpoint.bytes))
    let catalog = index.writer.catalog
    let place = Location(slot: 0, offset: 0x80)
    #expect(index.counts == .init(keys: 1, blobs: 1, logicalByteCount: 0x321))
    #expect(index.nextSegment == 9)
    #expect(catalog.keys.find(GoldenCheckpoint.hash, place))
    #expect(
      catalog.keys.find(GoldenCheckpoint.hash, counts: false) { $0.flags } == [],
      "checks do not outlive an opening")
    #expect(catalog.keys.location(of: GoldenCheckpoint.hash, stamp: 0x4321) == place)
    #expect(catalog.keys.clock.now == 0x7654)
    #expect(catalog.useTimes.withLock { $0.time(of: 0x4321, at: 0x7654) } == 0x1122_3344_5566)
    #expect(catalog.contents.count(GoldenCheckpoint.content, place) == 5)
    let segment = try #require(catalog.segments.segment(0))
    let account = index.writer.segments[segment]
    #expect(segment.id == 8 && account.state == .sealed && account.fill.tail == 0x400 && account.live.units == 6)
    #expect(catalog.segments.vouchedUpTo(0) == 0x380 && catalog.segments.firstSequence(0) == 3 << 36 | 1)
  }

  @Test func aChangedOrShortHeaderIsRefused() throws {
    let bytes = try GoldenCheckpoint.make().bytes
    expectRefusals(of: bytes, covered: 0..<1024, needs: 1024) { bytes in
      bytes.withUnsafeBytes { CheckpointHeader($0) } != nil
    }
  }

  /// The header's own version decides, not the one in its copy of `STORE`.
  @Test func headerOfAnotherVersionIsRejected() throws {
    var header = try GoldenCheckpoint.make().header
    for version in [CacheFormat.firstVersion, 0, 2, CacheFormat.version + 1, .max] {
      header.version = version
      let isTaken = header.encoded().withUnsafeBytes { CheckpointHeader($0) } != nil
      #expect(isTaken == (version == CacheFormat.firstVersion), "\(version)")
    }
  }

  @Test func aChangedOrShortBodyIsRefused() throws {
    let bytes = try GoldenCheckpoint.make().bytes
    expectRefusals(of: bytes, covered: 4096..<bytes.count) { GoldenCheckpoint.read($0) != nil }
  }

  @Test func bytesBetweenHeaderAndBodyAreIgnored() throws {
    var bytes = try GoldenCheckpoint.make().bytes
    for index in 1024..<4096 { bytes[index] = 0xA5 }
    #expect(GoldenCheckpoint.read(bytes) != nil)
  }

  @Test func aBlockOfAnotherUseOfTheFileIsRefused() throws {
    var checkpoint = try GoldenCheckpoint.make()
    checkpoint.header.generation += 1
    checkpoint.bytes.replaceSubrange(0..<4096, with: checkpoint.header.encoded())
    #expect(checkpoint.bytes.withUnsafeBytes { CheckpointHeader($0) } != nil)
    #expect(GoldenCheckpoint.read(checkpoint.bytes) == nil)
  }

  /// Counts that no file could hold, under a matching checksum.
  @Test func countsThatReachTooFarAreRefused() {
    for count in [1 << 32 - 1, 1 << 40, 1 << 62, Int.max] {
      for path in [
        \CheckpointHeader.keyCount, \.blobCount, \.segmentCount, \.largeCountCount, \.useTimeCount, \.bodyWordCount,
      ] {
        var header = GoldenCheckpoint.emptyHeader()
        header.bodyWordCount = CheckpointHeader.bodyWords(
          keys: 0, blobs: 0, segments: 0, largeCounts: 0, useTimes: 0)
        header[keyPath: path] = count
        #expect(header.encoded().withUnsafeBytes { CheckpointHeader($0) } == nil)
        guard path != \.bodyWordCount, path != \.segmentCount, path != \.useTimeCount, count < 1 << 40 else { continue }
        header.bodyWordCount = CheckpointHeader.bodyWords(
          keys: header.keyCount, blobs: header.blobCount, segments: 0, largeCounts: header.largeCountCount, useTimes: 0)
        #expect(GoldenCheckpoint.read(header.encoded()) == nil, "a body that is not there")
      }
    }
  }

  /// The next use of the log takes a higher number, and no file is longer.
  @Test func positionsThatReachTooFarAreRefused() {
    for position in [
      WALPosition(use: 1 << 61, offset: 512, sequence: 1), WALPosition(use: .max, offset: 512, sequence: 1),
      WALPosition(use: 1, offset: CacheFormat.largestWALFile + 1, sequence: 1),
      WALPosition(use: 1, offset: .max, sequence: 1), WALPosition(use: 1, offset: 512, sequence: .max),
      WALPosition(use: 1, offset: 512, sequence: 1 << 63),
    ] {
      var header = GoldenCheckpoint.emptyHeader()
      header.bodyWordCount = CheckpointHeader.bodyWords(keys: 0, blobs: 0, segments: 0, largeCounts: 0, useTimes: 0)
      header.position = position
      #expect(header.encoded().withUnsafeBytes { CheckpointHeader($0) } == nil)
    }
  }

  @Test func aFileIsAsLongAsItsCountsSay() {
    #expect(CheckpointHeader.fileByteCount(keys: 0, blobs: 0, segments: 0, largeCounts: 0) == 4096 + 65536)
    let perBlock = (65536 - 16) / 8
    let keys = (perBlock - 128 - 2 * UseTimes.most) / 2
    #expect(CheckpointHeader.fileByteCount(keys: keys, blobs: 0, segments: 0, largeCounts: 0) == 4096 + 65536)
    #expect(
      CheckpointHeader.fileByteCount(keys: keys, blobs: 1, segments: 0, largeCounts: 0) == 4096 + 2 * 65536)
  }
}
