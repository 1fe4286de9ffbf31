import Testing

@testable import Vitrine

/// Files with content that no writer would write, under valid checksums: findings of fuzzing, and its targets.
@Suite struct HostileFileTests {
  /// A file of zeros, or of `bytes` and then zeros, that counts how often it is read.
  private final class SparseFile: File, @unchecked Sendable {
    let bytes: [UInt8]
    let byteCount: Int
    private(set) var readCount = 0
    /// The largest requested read.
    private(set) var mostWanted = 0

    init(_ bytes: [UInt8] = [], byteCount: Int) {
      self.bytes = bytes
      self.byteCount = byteCount
    }

    var path: String { "sparse" }
    var announcesStores: Bool { false }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
      readCount += 1
      mostWanted = max(mostWanted, buffer.count)
      let count = min(buffer.count, max(0, byteCount - offset))
      UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
      if offset < bytes.count { buffer.copyBytes(from: bytes[offset..<min(bytes.count, offset + count)]) }
      return count
    }
    func status() -> FileStatus { FileStatus(byteCount: byteCount, allocatedByteCount: bytes.count) }
    private var refusal: SystemError { SystemError(code: 30, operation: "change", path: path) }
    func write(
      _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
    ) throws(SystemError) {
      throw refusal
    }
    func allocate(byteCount: Int, from site: CallSite) throws(SystemError) { throw refusal }
    func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) { throw refusal }
    func sync(from site: CallSite) {}
    func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping { throw refusal }
    func tryLock() -> Bool { true }
    func willStore(_ range: Range<Int>) {}
    func didStore(_ range: Range<Int>, from site: CallSite) {}
  }

  /// The field is read before any checksum can be compared.
  @Test(arguments: [UInt32.max, 1 << 31, 1 << 24, 1 << 23])
  func aHeadOfAWrongLengthIsNotReadWhole(_ length: UInt32) throws {
    var head = [UInt8](repeating: 0, count: RecordHeader.fixedByteCount)
    withUnsafeBytes(of: RecordHeader.magic.littleEndian) { head.replaceSubrange(0..<4, with: $0) }
    withUnsafeBytes(of: length.littleEndian) { head.replaceSubrange(88..<92, with: $0) }
    let file = SparseFile(head, byteCount: 1 << 40)
    let buffer = ByteBuffer()
    #expect(try HeadReader(file: file, offset: 0, available: 1 << 40).read(into: buffer, first: 4096) == nil)
    #expect(file.readCount == 2 && file.mostWanted < 1 << 18)
  }

  @Test(arguments: [1 << 30, 1 << 20, 2999, 3001])
  func aCompressedValueWithAWrongLengthAllocatesNothing(_ byteCount: Int) throws {
    let context = ThreadContext()
    let stored = try #require(text(3000).withUnsafeBytes { context.compress($0, level: 1).map { Array($0) } })
    #expect(stored.withUnsafeBytes { context.decompress($0, byteCount: byteCount) } == nil)
    #expect(context.values.isEmpty)
    #expect(stored.withUnsafeBytes { context.decompress($0, byteCount: 3000) }?.count == 3000)
  }

  /// The length is in the frame of zstd too, and may be as wrong there.
  @Test func aFrameThatIsTooShortForItsLengthAllocatesNothing() {
    let context = ThreadContext()
    let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    // One segment, 4 bytes of length: 1 GiB. Then an empty last block.
    let frame = magic + [0xA0, 0, 0, 0, 0x40, 1, 0, 0]
    #expect(frame.withUnsafeBytes { context.decompress($0, byteCount: 1 << 30) } == nil)
    #expect(context.values.isEmpty)
  }

  @Test(arguments: [(1 << 32) - 1, 1 << 38])
  func aCheckpointWithHugeCountsAllocatesNothing(_ count: Int) throws {
    for path in [\CheckpointHeader.keyCount, \.blobCount, \.largeCountCount] {
      var header = GoldenCheckpoint.emptyHeader()
      header[keyPath: path] = count
      header.bodyWordCount = CheckpointHeader.bodyWords(
        keys: header.keyCount, blobs: header.blobCount, segments: 0, largeCounts: header.largeCountCount, useTimes: 0)
      let read = try #require(header.encoded().withUnsafeBytes { CheckpointHeader($0) })
      let file = SparseFile(byteCount: 1 << 20)
      #expect(LoadedIndex.read(from: file, header: read) == nil)
      // Tables are allocated for the size of the body: if none of it is read, none is allocated.
      #expect(file.readCount == 0)
    }
  }

  @Test func aFrameWithAHugeLengthAllocatesNothing() {
    for length: UInt32 in [.max, .max - 7, 1 << 31] {
      let buffer = ByteBuffer()
      buffer.append(Frame.magic)
      buffer.append(length)
      buffer.pad(to: 4096)
      let file = SparseFile(Array(buffer.bytes), byteCount: 4096)
      let window = LogWindow(file, byteCount: 4096)
      #expect(window.frame(at: 0, before: window.byteCount, seed: 1) == nil)
      #expect(window.changeCount(from: 0, sequence: 0, before: window.byteCount) == 0)
      #expect(file.readCount == 1)
    }
  }

  @Test func aLogFileIsReadNoFurtherThanOneCanBeLong() throws {
    let file = SparseFile(byteCount: 1 << 42)
    let window = LogWindow(file, byteCount: 1 << 42)
    try #require(window.byteCount == CacheFormat.largestWALFile)
    window.forEachFrame(from: WALFileHeader.frameStart, seed: 1) { _, _, _ in Issue.record("a frame of zeros") }
    #expect(file.readCount < 1000)
  }

  @Test(arguments: [Int64.min, -1, .max], [Int64.min, .max])
  func absurdTimesOfUseDoNotTrap(_ first: Int64, _ second: Int64) throws {
    let index = try LoadedIndex.empty()
    index.writer.catalog.useTimes.withLock {
      $0 = UseTimes([.init(stamp: 1, time: first), .init(stamp: 2, time: second), .init(stamp: 3, time: first)])
    }
    let disk = MemoryDisk(["0.checkpoint": []])
    let file = try disk.openDirectory("", create: false).openFile("0.checkpoint", .readWrite)
    var header = GoldenCheckpoint.emptyHeader()
    try index.writer.write(to: file, header: &header) { _ in 0 }
    let read = try #require(LoadedIndex.read(from: file, header: header)).writer.catalog
    // Differences of such times do not overflow.
    try #require(read.useTimes.withLock { $0.readings.allSatisfy { (-1 << 60...1 << 60).contains($0.time) } })
    let now: Int64 = 1_700_000_000_000
    read.useTimes.withLock { times in
      for stamp in 3..<UInt32(UseTimes.most + 8) { times.note(stamp: stamp, time: now + Int64(stamp) * 2000) }
      _ = times.time(of: 2, at: 5)
    }
  }

  /// Rewrites the head of an entry's record, with a valid checksum.
  private func forge(_ url: String, in store: CacheStore, _ change: (inout RecordHeader) -> Void) throws {
    let place = try #require(store.probe.location(of: CacheKey(url)))
    let isPlanted = try store.probe.plantHead(at: place, change)
    try #require(isPlanted)
  }

  /// The index does not know that such an entry expires: a get would note its use before the record is read, and
  /// prolong an expired entry. It stays invisible.
  @Test func entryWithAnExpiryMissingInTheIndexStillExpires() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put(noise(3000), for: "a")
    try forge("a", in: store) { header in
      header.flags.insert(.sliding)
      header.expiration = 1
    }
    try store.close()

    let world = TestWorld(fileSystem: disk, seed: 2)
    let again = try world.open("store")
    world.clock.advance(120_000)
    #expect(try again.verify().damaged.isEmpty && again.lookup("a") == .expired)
    #expect(again["a"] == nil && again.statistics().damagedCount == 0)
    try again.close()
  }

  /// A forged reference can state a length other than its payload's: a Blob of that length would show the bytes
  /// behind the payload.
  @Test(arguments: [2999, 3001, 1 << 20], [ReadMode.mapped, .copied])
  func referenceWithAWrongPayloadLengthGivesNoBlob(_ byteCount: Int, _ reads: ReadMode) throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    for url in ["a", "b"] { try store.put(noise(3000), for: url) }
    try forge("b", in: store) { header in
      #expect(!header.carriesPayload)
      header.storedByteCount = byteCount
      header.logicalByteCount = byteCount
    }
    try store.close()

    let again = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions(reads: reads))
    #expect(again.blob("b") == nil && !again.contains("b") && again.statistics().damagedCount == 1)
    let whole = try #require(again.blob("a"))
    #expect(whole.withBytes { $0.withUnsafeBytes { Array($0) } } == noise(3000) && !whole.isDamaged)
    try again.close()
  }

  /// For a reference with any wrong property of its payload, no call returns bytes, and `verify` reports it.
  @Test(arguments: [Verification.firstRead, .always, .never], 0..<4)
  func aForgedReferenceIsDamagedForEveryCall(_ verification: Verification, _ forgery: Int) throws {
    func afterForging() throws -> CacheStore {
      let disk = MemoryDisk()
      let store = try TestWorld(fileSystem: disk).open("store")
      for url in ["a", "b"] {
        // Its payload has space behind it, and is a bitmap if a layout is forged.
        let layout = BitmapLayout(width: 15, height: 50, bytesPerRow: 60, format: .rgba8888)
        try store.put(noise(3000), for: CacheKey(url), options: PutOptions(layout: forgery == 2 ? layout : nil))
      }
      try store.put(noise(9000, 3), for: "c")
      try forge("b", in: store) { header in
        switch forgery {
        case 0: header.storedByteCount = 2999
        case 1: header.storedByteCount = 3001
        case 3: header.encoding = .zstd
        default: header.layout = BitmapLayout(width: 5, height: 150, bytesPerRow: 20, format: .rgba8888)
        }
        header.logicalByteCount = header.storedByteCount
      }
      try store.close()
      return try TestWorld(fileSystem: disk, seed: 2).open(
        "store", StoreOptions(verification: verification, reads: forgery == 1 ? .copied : .mapped))
    }
    let calls: [(CacheStore) -> Bool] = [
      { $0["b"] != nil }, { $0.blob("b") != nil },
      { if case .found = $0.lookup("b") { true } else { false } },
      { $0.get("b") { $0.byteCount } != nil },
    ]
    for call in calls {
      let store = try afterForging()
      #expect(try store.verify().damaged.map(\.key) == ["b"])
      #expect(!call(store) && store.lookup("b") == .missing && store.statistics().damagedCount == 1)
      #expect(store["a"] == noise(3000))
      try store.close()
    }
  }

  /// A forged log can enter a key without the blob of its record. A change of its metadata would have to share that
  /// blob, and never find it.
  @Test func entryWithAnUnlistedPayloadIsDroppedOnChange() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    try store.put([1, 2, 3], for: "a")
    try store.put([4], for: "b")
    let place = try #require(store.probe.location(of: CacheKey("a")))
    try #require(store.probe.plantLossOfPayload(at: place))

    #expect(try !store.setMetadata([7], for: CacheKey("a")))
    #expect(!store.contains("a") && store["b"] == [4])
    #expect(store.statistics().damagedCount == 1)
    try store.put([1, 2, 3], for: "a")
    #expect(try store.setMetadata([7], for: CacheKey("a")) && store["a"] == [1, 2, 3])
    try store.close()
  }
}
