import Testing
import VitrineSimulation

@testable import Vitrine

/// Numbers that no writer would store, under matching checksums: each alone is refused, with everything else right.
@Suite struct BoundTests {
  // MARK: Checkpoints

  /// The words of ``GoldenCheckpoint``'s body.
  private func words() throws -> [UInt64] {
    let bytes = try GoldenCheckpoint.make().bytes
    return stride(from: 4096 + 16, to: bytes.count, by: 8).map { offset in
      bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
  }

  /// Returns whether a checkpoint with these words and this header is accepted.
  private func isTaken(
    _ header: (inout CheckpointHeader) -> Void = { _ in }, words change: (inout [UInt64]) -> Void
  ) throws -> Bool {
    var words = try words()
    change(&words)
    var golden = try GoldenCheckpoint.make().header
    golden.bodyWordCount = words.count
    header(&golden)
    let file = try MemoryDisk(["checkpoints/0.checkpoint": []]).openDirectory("", create: true)
      .openDirectory("checkpoints", create: true).openFile("0.checkpoint", .readWrite)
    let writer = CheckpointBodyWriter(file: file, store: golden.identity.store, generation: golden.generation)
    for word in words { writer.append(word) }
    try writer.finish()
    try file.write(golden.encoded(), at: 0)
    return GoldenCheckpoint.read(try file.readAll()) != nil
  }

  /// The offsets of the parts: the segment's words, the key's shard with its count, the blob's, the large count.
  private static let (key, blob, large) = (9 + 16, 9 + 64 + 2 + 32, 9 + 64 + 2 + 64 + 1)

  @Test func unchangedCheckpointIsAccepted() throws {
    #expect(try isTaken { _ in })
    let words = try words()
    #expect(words[Self.key] == 1 && words[Self.blob] == 1 && words[Self.large + 1] == 5)
  }

  @Test(
    arguments: [
      (1, 1 << 62), (1, .max), (2, 1 << 41), (2, .max), (3, 3), (4, 127), (4, 0x10001), (4, .max), (5, 1 << 41),
      (5, .max), (6, 1 << 41), (6, .max), (7, 0x10001), (7, .max), (0, 1 << 16), (0, 0x7FFF_FFFF), (0, 7 << 32),
    ] as [(Int, UInt64)])
  func aSegmentOutsideItsBoundsIsRefused(_ word: Int, _ value: UInt64) throws {
    #expect(try !isTaken { $0[word] = value })
  }

  @Test func twoSegmentsInOneSlotAreRefused() throws {
    #expect(try !isTaken({ $0.segmentCount = 2 }, words: { $0.insert(contentsOf: $0[0..<9], at: 9) }))
    // Another slot is allowed.
    #expect(
      try isTaken(
        { $0.segmentCount = 2 },
        words: { words in
          words.insert(contentsOf: words[0..<9], at: 9)
          words[9] = 1
          words[10] = 9
        }))
  }

  @Test func entriesOutsideEverySegmentAreRefused() throws {
    // In a missing segment, in a segment's header, behind a segment's end.
    for bits in [1 << 22 | 2, 1, 0x10000 >> 6] as [UInt64] {
      #expect(try !isTaken { $0[Self.key + 1] = $0[Self.key + 1] & ~Location.mask | bits }, "key at \(bits)")
      #expect(try !isTaken { $0[Self.blob + 1] = $0[Self.blob + 1] & ~Location.mask | bits }, "blob at \(bits)")
    }
  }

  @Test func wrongShardCountsAreRefused() throws {
    for count in [2, 1 << 40, 1 << 62, 1 << 63, .max] as [UInt64] {
      #expect(try !isTaken { $0[Self.key] = count }, "\(count) keys")
      #expect(try !isTaken { $0[Self.blob] = count }, "\(count) blobs")
    }
    // Fewer than the header counts.
    #expect(try !isTaken({ $0.keyCount = 2 }, words: { $0 += [0, 0] }))
    #expect(try !isTaken({ $0.blobCount = 2 }, words: { $0 += [0] }))
    for count in [0, 3, 1 << 41, .max] as [UInt64] {
      #expect(try !isTaken { $0[Self.large + 1] = count }, "\(count) users")
    }
    #expect(try !isTaken({ $0.largeCountCount = 0 }, words: { $0.removeSubrange(Self.large..<Self.large + 2) }))
  }

  @Test func headersOfCheckpointsOutsideTheirBoundsAreRefused() {
    func isTaken(_ change: (inout CheckpointHeader) -> Void) -> Bool {
      var header = GoldenCheckpoint.emptyHeader()
      header.bodyWordCount = CheckpointHeader.bodyWords(keys: 0, blobs: 0, segments: 0, largeCounts: 0, useTimes: 0)
      change(&header)
      return header.encoded().withUnsafeBytes { CheckpointHeader($0) } != nil
    }
    /// With a body as long as the counts require.
    func isTaken(_ path: WritableKeyPath<CheckpointHeader, Int>, _ count: Int) -> Bool {
      isTaken { header in
        header[keyPath: path] = count
        header.bodyWordCount = CheckpointHeader.bodyWords(
          keys: header.keyCount, blobs: header.blobCount, segments: header.segmentCount,
          largeCounts: header.largeCountCount, useTimes: header.useTimeCount)
      }
    }
    #expect(isTaken { _ in })
    #expect(isTaken(\.segmentCount, SegmentTable.slotLimit) && !isTaken(\.segmentCount, SegmentTable.slotLimit + 1))
    #expect(isTaken(\.useTimeCount, UseTimes.most) && !isTaken(\.useTimeCount, UseTimes.most + 1))
    #expect(!isTaken { $0.bodyWordCount -= 1 } && !isTaken { $0.bodyWordCount += 1 })
    #expect(!isTaken { $0.logicalByteCount = 1 << 60 })
    #expect(!isTaken { $0.generation = 1 << 62 })
    #expect(!isTaken { $0.nextSegment = 1 << 62 })
    // The sum of counts must not overflow.
    for path in [\CheckpointHeader.keyCount, \.blobCount, \.largeCountCount, \.segmentCount, \.useTimeCount] {
      #expect(!isTaken { $0[keyPath: path] = .max })
    }
  }

  // MARK: Headers

  @Test func numbersOfUsesAndOpeningsHaveRoomForTheNext() {
    func isTaken(_ change: (inout WALFileHeader) -> Void) -> Bool {
      var header = WALFileHeaderFormatTests().header
      change(&header)
      return header.encoded().withUnsafeBytes { WALFileHeader($0) } != nil
    }
    #expect(isTaken { $0.use = 1 << 62 - 1 } && !isTaken { $0.use = 1 << 62 } && !isTaken { $0.use = .max })
    #expect(isTaken { $0.opening = 1 << 28 - 1 } && !isTaken { $0.opening = 1 << 28 } && !isTaken { $0.opening = .max })
    for number in [\WALFileHeader.firstSequence, \.predecessorSequence, \.durableSequence] {
      #expect(isTaken { $0[keyPath: number] = 1 << 63 - 1 } && !isTaken { $0[keyPath: number] = 1 << 63 })
    }
    #expect(!isTaken { $0.version = 2 })
  }

  @Test func identitiesOutsideTheirBoundsAreDamage() {
    func isDamaged(_ change: (inout StoreIdentity) -> Void) -> Bool {
      var identity = StoreIdentityFormatTests.identity
      change(&identity)
      return identity.encoded().withUnsafeBytes { StoreIdentity.read($0) } == .damaged
    }
    #expect(isDamaged { $0.byteBudget = 0 } && !isDamaged { $0.byteBudget = .max })
    #expect(isDamaged { $0.generation = 1 << 62 })
    for count in [1, CacheFormat.smallestSegment - 1, CacheFormat.largestSegment + 1, .max] {
      #expect(isDamaged { $0.segmentByteCount = count }, "\(count)")
    }
    #expect(!isDamaged { $0.segmentByteCount = 0 })
  }

  // MARK: Changes

  @Test func changesOutsideTheirBoundsAreRefused() {
    func isTaken(_ change: Change) -> Bool { GoldenChange.decode(GoldenChange.encode(change)) != nil }
    let limit = SegmentTable.slotLimit
    for slot in [limit, 1 << 31] {
      #expect(!isTaken(.segmentMade(slot: slot, id: 1, byteCount: 4096)))
      #expect(!isTaken(.segmentOpened(slot: slot, stream: .originals, firstSequence: 1)))
      #expect(!isTaken(.segmentSealed(slot: slot, byteCount: 4096)) && !isTaken(.segmentRetired(slot: slot)))
    }
    #expect(isTaken(.segmentMade(slot: limit - 1, id: 1 << 62 - 1, byteCount: 4096)))
    #expect(!isTaken(.segmentMade(slot: 1, id: 1 << 62, byteCount: 4096)))
    #expect(!isTaken(.segmentMade(slot: 1, id: .max, byteCount: 4096)))
    #expect(!isTaken(.segmentSealed(slot: 1, byteCount: 1 << 40 + 1)))
    var move = GoldenChange.move(GoldenChange.hash, nil)
    move.payloadUnits = 1 << 25 + 1
    #expect(!isTaken(.moved(move)))
    for flags in [0, 4, 7, 255] as [UInt8] {
      var bytes = GoldenChange.encode(.moved(GoldenChange.move(GoldenChange.hash, GoldenChange.content)))
      bytes[1] = flags
      #expect(GoldenChange.decode(bytes) == nil, "flags \(flags)")
    }
    for place in [Location.none, Location(bits: 1 << 38), Location(bits: .max)] {
      var put = GoldenChange.put()
      put.location = place
      #expect(!isTaken(.put(put)), "\(place)")
    }
  }

  // MARK: Records

  @Test func recordsOutsideTheirBoundsAreRefused() {
    func isTaken(_ record: GoldenRecord, available: Int? = nil) -> Bool {
      record.bytes.withUnsafeBytes { RecordHeader(head: $0, available: available ?? $0.count) } != nil
    }
    func with(_ change: (inout GoldenRecord) -> Void) -> GoldenRecord {
      var record = GoldenRecord.make()
      change(&record)
      record.header.urlByteCount = record.url.count
      record.header.styleByteCount = record.style.count
      record.header.metadataByteCount = record.metadata.count
      return record
    }
    func placed(_ record: GoldenRecord) -> GoldenRecord {
      var record = record
      record.header.payloadOffset = roundUp(record.header.endOfHead, to: 64)
      return record
    }
    for (count, taken) in [(65_536, true), (65_537, false)] {
      #expect(isTaken(placed(with { $0.url = noise(count) })) == taken, "URL of \(count)")
      #expect(isTaken(placed(with { $0.metadata = noise(count) })) == taken, "metadata of \(count)")
    }
    for (count, taken) in [(0, false), (1, true), (255, true), (256, false)] {
      #expect(isTaken(placed(with { $0.style = [UInt8](repeating: 0x61, count: count) })) == taken, "style of \(count)")
    }
    #expect(!isTaken(with { $0.header.logicalByteCount = 23 }), "a plain value is as long as its payload")
    #expect(!isTaken(with { $0.header.payloadOffset = 200 }), "payloads begin at units")
    #expect(!isTaken(with { $0.header.payloadOffset = 128 }), "a payload does not begin in its head")
    #expect(!isTaken(with { $0.header.payloadOffset = 192 + 4096 + 64 }), "too much room before the payload")
    let whole = GoldenRecord.make()
    #expect(
      isTaken(whole, available: 192 + 24) && !isTaken(whole, available: 192 + 23) && !isTaken(whole, available: 191))
    let reference = with { $0.header.kind = .reference }
    #expect(isTaken(reference, available: 192) && !isTaken(reference, available: 191), "a head ends with its segment")
    for count in [1 << 30 + 1, 1 << 62] {
      let stored = with { record in
        (record.header.storedByteCount, record.header.logicalByteCount) = (count, count)
        record.header.kind = .reference
      }
      #expect(!isTaken(stored), "\(count) bytes stored")
      let logical = with { record in
        record.header.encoding = .zstd
        record.header.logicalByteCount = count
      }
      #expect(!isTaken(logical), "\(count) bytes of a value")
    }
    var source = with { record in
      record.header.flags = [.source, .namedSource]
      record.header.source = Source(noise(16))
    }
    source = placed(source)
    #expect(isTaken(source))
    var bytes = source.bytes
    bytes[94] = 17
    #expect(bytes.withUnsafeBytes { RecordHeader($0) } == nil, "a source of 17 bytes")
    var bitmap = GoldenRecord.full()
    bitmap.header.storedByteCount -= 64
    bitmap.header.logicalByteCount -= 64
    #expect(!isTaken(bitmap), "a layout of other bytes")
  }

  // MARK: Changes in a catalog

  @Test func changesThatDoNotFitTheCatalogEndAReplay() throws {
    let index = try LoadedIndex.empty()
    func takes(_ change: Change) -> Bool { index.apply([change], sequence: 1) }
    #expect(takes(.segmentMade(slot: 0, id: 1, byteCount: 4096)))
    #expect(!takes(.segmentMade(slot: 0, id: 2, byteCount: 4096)), "the slot is taken")
    #expect(!takes(.segmentMade(slot: 1, id: 2, byteCount: 127)), "no room for a header")
    #expect(takes(.segmentOpened(slot: 0, stream: .originals, firstSequence: 1)))
    #expect(!takes(.segmentOpened(slot: 0, stream: .originals, firstSequence: 1)), "opened twice")
    for slot in [1, 60_000] {
      #expect(!takes(.segmentOpened(slot: slot, stream: .originals, firstSequence: 1)))
      #expect(!takes(.segmentSealed(slot: slot, byteCount: 4096)) && !takes(.segmentRetired(slot: slot)))
    }
    func put(_ offset: Int) -> Change {
      let place = Location(slot: 0, offset: offset)
      return .put(
        Change.Put(
          hash: GoldenChange.hash, location: place, headUnits: 2, payloadUnits: 2, logicalByteCount: 100,
          content: GoldenChange.content, contentLocation: place, displaced: nil))
    }
    #expect(!takes(put(4096 - 192)), "behind the segment's end")
    #expect(takes(put(4096 - 256)))
    #expect(!takes(.segmentSealed(slot: 0, byteCount: 4096 - 64)), "sealed before the end of its records")
    #expect(!takes(.segmentRetired(slot: 0)), "something lives in it")
    let move = Change.Move(
      from: Location(slot: 0, offset: 4096 - 256), to: Location(slot: 0, offset: 4096 - 192), key: GoldenChange.hash,
      content: nil, headUnits: 2, copiedHeadUnits: 2, payloadUnits: 2)
    #expect(!takes(.moved(move)), "a copy behind the segment's end")
  }

  /// If there are many, the entries of one URL are removed in one pass.
  @Test(arguments: [1, 15, 16, 40])
  func removalOfAMissingStyleEndsAReplay(_ count: Int) throws {
    func place(_ style: Int) -> Location { Location(slot: 0, offset: 128 * (1 + style)) }
    func hash(_ style: Int) -> KeyHash { KeyHash(url: GoldenChange.hash.bits, styleTag: UInt16(style)) }
    func content(_ style: Int) -> ContentHash { ContentHash(bits: UInt64(1 + style) << 40) }
    func removal(_ style: Int) -> Change {
      .remove(
        hash(style),
        Change.Displaced(
          location: place(style), headUnits: 1, logicalByteCount: 1, content: content(style),
          contentLocation: place(style), payloadUnits: 1))
    }
    func takes(_ removals: [Change]) throws -> Bool {
      let index = try LoadedIndex.empty()
      let puts = (0..<count).map { style in
        Change.put(
          Change.Put(
            hash: hash(style), location: place(style), headUnits: 1, payloadUnits: 1, logicalByteCount: 1,
            content: content(style), contentLocation: place(style), displaced: nil))
      }
      #expect(index.apply([.segmentMade(slot: 0, id: 1, byteCount: 65_536)], sequence: 1))
      #expect(index.apply(puts, sequence: 2))
      return index.apply(removals, sequence: 3)
    }
    #expect(try takes((0..<count).map(removal)))
    #expect(try !takes((1...count).map(removal)), "the last one is not there")
    #expect(try !takes((0..<count).map(removal) + [removal(0)]), "one goes twice")
  }

  @Test func readsEndWithTheMapping() throws {
    let index = try LoadedIndex.empty()
    let catalog = index.writer.catalog
    let folder = try MemoryDisk(["segments/x": noise(4096)]).openDirectory("", create: false)
      .openDirectory("segments", create: false)
    let file = try folder.openFile("x", .readOnly)
    let segment = Segment(id: 1, slot: 0, byteCount: 65_536, stream: .originals, state: .sealed, tail: 65_536)
    index.writer.segments.attach(
      segment,
      file: CachedFile(
        file, name: "x", in: folder, access: .readOnly, cache: FileCache(), isKept: false),
      mapping: try file.map(byteCount: 4096, writable: false), byteCount: 4096,
      allocatedByteCount: 4096, account: catalog.segments.account, access: .readOnly)
    index.writer.segments.insert(segment, vouchedUpTo: 0, firstSequence: 0)
    #expect(catalog.segments.bytes(at: Location(slot: 0, offset: 4032)).count == 64)
    for offset in [4096, 8192, 60_032] {
      #expect(catalog.segments.bytes(at: Location(slot: 0, offset: offset)).isEmpty)
      #expect(catalog.segments.available(at: Location(slot: 0, offset: offset)) == 0)
    }
  }

  // MARK: Arguments

  @Test func argumentsOutsideTheirLimitsAreRefused() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    func isRefused(_ body: () throws -> Void) -> Bool {
      do {
        try body()
        return false
      } catch StoreError.invalidArgument {
        return true
      } catch {
        return false
      }
    }
    let layout = BitmapLayout(width: 5, height: 5, format: .gray8)
    #expect(isRefused { try store.put([1], for: CacheKey(bytes: noise(65_537))) })
    #expect(isRefused { try store.put([1], for: "a", options: PutOptions(metadata: noise(65_537))) })
    #expect(isRefused { try store.put(noise(24), for: "a", options: PutOptions(layout: layout)) })
    try store.put([1], for: CacheKey(bytes: noise(65_536)), options: PutOptions(metadata: noise(65_536)))
    #expect(store.bytes(CacheKey(bytes: noise(65_536))) == [1])
    #expect(isRefused { _ = try store.setMetadata(noise(65_537), for: CacheKey(bytes: noise(65_536))) })
    for name in ["", String(repeating: "a", count: 256), "a b", "ü", "a\u{7f}", "\n"] {
      #expect(Style(name) == nil, "\(name)")
    }
    #expect(Style(String(repeating: "a", count: 255)) != nil)
    try store.close()
  }
}
