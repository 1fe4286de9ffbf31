import Testing

@testable import Vitrine

/// No parser reads a byte behind its input, also if the input claims a greater length.
@Suite struct ReadBehindTheEndTests {
  /// Every prefix, and the whole with each length field raised.
  private func prefixes(_ bytes: [UInt8]) -> [[UInt8]] {
    let counts = Set(Array(0...min(bytes.count, 260)) + [bytes.count / 2, bytes.count - 1, bytes.count])
    return counts.map { Array(bytes.prefix($0)) }
  }

  @Test func integersAndRangesEndWithTheBytes() {
    for count in 0..<9 {
      atTheEndOfMemory([UInt8](repeating: 7, count: count)) { bytes in
        var reader = ByteReader(bytes)
        #expect((reader.next(UInt64.self) == nil) == (count < 8))
        reader = ByteReader(bytes)
        #expect(reader.range(count)?.count == count && reader.range(1) == nil)
      }
    }
  }

  @Test func framesEndWithTheirBytes() {
    let frame = GoldenFrame.encode([.removeAll, .segmentRetired(slot: 3)])
    for bytes in prefixes(frame) {
      atTheEndOfMemory(bytes) { bytes in
        #expect((Frame.parse(bytes, at: GoldenFrame.offset, seed: 1) == nil) || bytes.count == frame.count)
        _ = Frame.byteCount(bytes)
      }
    }
    for (length, isTaken) in [
      (UInt32(0), false), (8, false), (32, false), (39, false), (41, false), (44, false), (1 << 31, true),
    ] {
      var long = frame
      withUnsafeBytes(of: length.littleEndian) { long.replaceSubrange(4..<8, with: $0) }
      atTheEndOfMemory(long) { bytes in
        #expect((Frame.byteCount(bytes) != nil) == isTaken, "\(length)")
        #expect(Frame.parse(bytes, at: GoldenFrame.offset, seed: 1) == nil)
      }
    }
  }

  @Test func headersEndWithTheirBytes() throws {
    let log = WALFileHeaderFormatTests().header.encoded()
    let segment = SegmentHeaderFormatTests().header.encoded()
    let identity = StoreIdentityFormatTests.identity.encoded()
    let checkpoint = Array(try GoldenCheckpoint.make().bytes.prefix(1024))
    for bytes in prefixes(log) { atTheEndOfMemory(bytes) { #expect((WALFileHeader($0) != nil) == (bytes == log)) } }
    for bytes in prefixes(segment) {
      atTheEndOfMemory(bytes) { #expect((SegmentHeader($0) != nil) == (bytes == segment)) }
    }
    for bytes in prefixes(identity) {
      atTheEndOfMemory(bytes) { #expect((StoreIdentity.read($0) == .damaged) == (bytes != identity)) }
    }
    for bytes in prefixes(checkpoint) {
      atTheEndOfMemory(bytes) { #expect((CheckpointHeader($0) != nil) == (bytes == checkpoint)) }
    }
    for count in [0, 8, 100, 504, 511] {
      // The cut bytes are still in memory.
      var short = Counters().encoded()
      short.removeLast(short.count - count)
      #expect(Counters(short) == nil, "\(count)")
    }
  }

  @Test(arguments: [GoldenRecord.make(), .full()])
  func recordsEndWithTheirBytes(_ record: GoldenRecord) {
    for bytes in prefixes(record.head) {
      atTheEndOfMemory(bytes) { bytes in
        _ = RecordHeader(bytes)
        _ = RecordHeader(head: bytes, available: 1 << 30)
        record.url.withUnsafeBytes { url in
          record.style.withUnsafeBytes { style in _ = RecordGlance(bytes, url: url, style: style) }
        }
        #expect(record.header.pieces(in: bytes).isEmpty || bytes.count >= record.header.urlOffset)
      }
    }
  }

  /// Bytes of a key that are split elsewhere are another key.
  @Test func glanceSeparatesURLAndStyle() {
    let record = GoldenRecord.make()
    let both = record.url + record.style
    for length in 0...both.count {
      let isSeen = record.bytes.withUnsafeBytes { bytes in
        both.withUnsafeBytes { both in
          RecordGlance(
            bytes, url: UnsafeRawBufferPointer(rebasing: both[..<length]),
            style: UnsafeRawBufferPointer(rebasing: both[length...])) != nil
        }
      }
      #expect(isSeen == (length == record.url.count), "\(length)")
    }
  }

  /// A hit reads mapped memory with any content that the disk returned.
  @Test func aGlanceEndsWithItsSegment() {
    let record = GoldenRecord.make()
    func glance(_ change: (inout [UInt8]) -> Void, url: [UInt8]? = nil, style: [UInt8]? = nil) -> Bool {
      var bytes = record.bytes
      change(&bytes)
      return atTheEndOfMemory(bytes) { bytes in
        (url ?? record.url).withUnsafeBytes { url in
          (style ?? record.style).withUnsafeBytes { style in
            RecordGlance(bytes, url: url, style: style).map { $0.payload.reduce(0) { $0 &+ Int($1) } >= 0 } ?? false
          }
        }
      }
    }
    func set(_ value: UInt64, _ width: Int, at offset: Int) -> (inout [UInt8]) -> Void {
      { bytes in
        withUnsafeBytes(of: value.littleEndian) {
          bytes.replaceSubrange(offset..<offset + width, with: $0.prefix(width))
        }
      }
    }
    #expect(glance { _ in })
    // Stored bytes, the payload's place, the lengths of URL and style, and the flag of pieces.
    for stored in [25, 1 << 20, 1 << 31, 1 << 62, UInt64.max] { #expect(!glance(set(stored, 8, at: 48))) }
    for place in [0, 64, 128, 256, 1 << 20, UInt64(UInt32.max)] { #expect(!glance(set(place, 4, at: 88)), "\(place)") }
    for stored in [1 << 31, 1 << 62, UInt64.max] {
      #expect(
        !glance { bytes in
          set(4, 2, at: 6)(&bytes)
          set(stored, 8, at: 48)(&bytes)
        })
    }
    let long = [UInt8](repeating: 0x61, count: 60_000)
    #expect(!glance(set(60_000, 4, at: 80), url: long))
    #expect(!glance(set(255, 2, at: 92), style: [UInt8](repeating: 0x61, count: 255)))
    // Bytes of a key that are split elsewhere are another key.
    let joined = record.url + record.style
    #expect(!glance({ _ in }, url: Array(joined.prefix(record.url.count + 1)), style: Array(record.style.dropFirst())))
  }

  @Test func aMappingThatIsReadAsAFileEndsWhereItEnds() throws {
    try atTheEndOfMemory(noise(5000)) { bytes in
      let mapping = Mapping(
        start: UnsafeMutableRawPointer(mutating: bytes.baseAddress!), byteCount: bytes.count
      ) {}
      let file = MappedFile(mapping, isPrivate: true)
      #expect(try file.read(4000..<9000) == Array(bytes[4000...]))
      #expect(try file.read(6000..<6010) == [])
      try file.write([1, 2, 3], at: 4997)
      for offset in [4998, 5000, 9000] {
        #expect(throws: SystemError.self, "\(offset)") { try file.write([1, 2, 3], at: offset) }
      }
      withExtendedLifetime(mapping) {}
    }
  }

  @Test func bytesBehindAMappingAreNotWritten() throws {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
    defer { memory.deallocate() }
    memory.copyBytes(from: noise(64))
    let mapping = Mapping(start: memory.baseAddress!, byteCount: 48) {}
    let file = MappedFile(mapping, isPrivate: true)
    for offset in [46, 48, 56] {
      #expect(throws: SystemError.self, "\(offset)") { try file.write([1, 2, 3], at: offset) }
    }
    #expect(Array(memory) == noise(64))
    try file.write([1, 2, 3], at: 45)
    #expect(Array(memory) == noise(64)[..<45] + [1, 2, 3] + noise(64)[48...])
    withExtendedLifetime(mapping) {}
  }

  /// Frames of a log file, read a stretch at a time.
  @Test func aWindowOnTheLogEndsWithItsFileAndWithACut() throws {
    let frame = GoldenFrame.encode([.removeAll])
    let content = GoldenFrame.file(frame)
    let disk = MemoryDisk(["wal/0.wal": content])
    let file = try disk.openDirectory("", create: false).openDirectory("wal", create: false)
      .openFile("0.wal", .readOnly)
    let window = LogWindow(file, byteCount: content.count)
    let (offset, seed) = (GoldenFrame.offset, GoldenFrame.seed)
    #expect(window.frame(at: offset, before: content.count, seed: seed) != nil)
    #expect(window.frame(at: offset, before: content.count - 1, seed: seed) == nil)
    for place in [content.count, content.count + 8, content.count + (1 << 20)] {
      #expect(window.bytes(at: place, atLeast: 40).isEmpty)
      #expect(window.frame(at: place, before: .max, seed: seed) == nil)
    }
  }
}
