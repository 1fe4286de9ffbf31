/// The head of a checkpoint file: 4096 bytes, of which the first 1024 are used. Behind it the body, in blocks.
///
/// ```
///   0 u64 magic  8 u32 version  12 u32 flags (1: written by a clean close)  16 u64 store id low  24 u64 high
///  32 u64 generation   40 u64 WAL use   48 u64 WAL offset   56 u64 WAL sequence   64 u64 opening
///  72 u64 next record number   80 u64 keys   88 u64 blobs   96 u64 segments   104 u64 large counts
/// 112 u64 logical bytes        120 u64 body words   128 i64 made   136 u64 next segment id
/// 144 u64 recency clock        152 u64 use times   160 u64 checksum of 0-159 and 168-511
/// 168 u64 groups with sums (``EntrySum``), for each: u64 number, u64 entries, u64 bytes   zeros
/// 488 u64 words of pieces   496 u64 words of parts that are owed, both in a root
/// 504 u64 checksum of 0-159, 168-503 and 512-1023   512 a copy of STORE
/// ```
/// Two sectors hold the head, so a loss of power may leave one of them old. The checksum at 160 distinguishes that from
/// damage.
///
/// A body block is 64 KiB, except that the last one ends with its last word: u64 checksum, u32 index, u32 number of
/// words, then words of 8 bytes. The checksum is seeded with store id, generation and index, so a block from an earlier
/// use of the file never passes.
///
/// The body: the segments (9 words each), the keys of each of the 64 shards (a count, then 2 words each), the blobs of
/// each of the 64 shards (a count, then a word each), the counts of blobs that more than 3 keys use (2 words each), the
/// readings of the recency clock (a stamp and a time each).
///
/// A *root* is a checkpoint of the second format. Instead of keys, blobs and large counts, its body has the
/// words of pieces (``Piece``), which hold them.
package struct CheckpointHeader: Sendable, Equatable {
  package static let magic: UInt64 = 0x504B_435F_5254_4956  // "VITR_CKP"
  package static let byteCount = 4096
  static let usedByteCount = 1024
  package static let blockByteCount = 64 << 10
  static let blockHeaderByteCount = 16
  static let wordsPerBlock = (blockByteCount - blockHeaderByteCount) / 8
  static let segmentWords = 9
  /// The most groups of entries that are counted apart: 12 styles, and the pinned entries.
  package static let mostEntrySums = 13

  /// The entries and bytes of a style that has a budget, or of all pinned entries.
  package struct EntrySum: Sendable, Equatable {
    /// The tag of the style, or 65,536 for the pinned entries.
    package let group: Int
    package let entryCount: Int
    package let byteCount: Int
  }

  package var version: UInt32
  package var isClean: Bool
  package var generation: UInt64
  package var position: WALPosition
  package var opening: UInt64
  package var nextRecord: UInt64
  package var keyCount = 0
  package var blobCount = 0
  package var segmentCount = 0
  package var largeCountCount = 0
  package var logicalByteCount = 0
  package var useTimeCount = 0
  package var bodyWordCount = 0
  /// Words of pieces in the body of a root.
  package var pieceWordCount = 0
  /// See ``PiecePlan/owed``.
  package var owedWordCount = 0
  /// The recency clock. Earlier builds have written its low 32 bits.
  package var recency: UInt64 = 0
  package var made: Int64
  package var nextSegment: UInt64
  /// At most ``mostEntrySums``; none in a checkpoint of an earlier release.
  package var entrySums: [EntrySum] = []
  package var identity: StoreIdentity

  package init(
    isClean: Bool, generation: UInt64, position: WALPosition, opening: UInt64, nextRecord: UInt64, made: Int64,
    nextSegment: UInt64, identity: StoreIdentity
  ) {
    version = identity.version
    self.isClean = isClean
    self.generation = generation
    self.position = position
    self.opening = opening
    self.nextRecord = nextRecord
    self.made = made
    self.nextSegment = nextSegment
    self.identity = identity
  }

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= CheckpointHeader.usedByteCount, let p = bytes.baseAddress,
      p.u64(0) == CheckpointHeader.magic, p.u64(504) == CheckpointHeader.checksum(bytes),
      CheckpointHeader.hasFirstChecksum(bytes), p.u32(8) > 0, !CacheFormat.isNewer(p.u32(8)),
      case .valid(let identity) = StoreIdentity.read(UnsafeRawBufferPointer(rebasing: bytes[512..<1024])),
      identity.store == StoreID(low: p.u64(16), high: p.u64(24))
    else { return nil }
    self.init(
      isClean: p.u32(12) & 1 == 1, generation: p.u64(32),
      position: CheckpointHeader.position(bytes),
      opening: p.u64(64), nextRecord: p.u64(72), made: p.i64(128), nextSegment: p.u64(136), identity: identity)
    version = p.u32(8)
    keyCount = Int(clamping: p.u64(80))
    blobCount = Int(clamping: p.u64(88))
    segmentCount = Int(clamping: p.u64(96))
    largeCountCount = Int(clamping: p.u64(104))
    logicalByteCount = Int(clamping: p.u64(112))
    bodyWordCount = Int(clamping: p.u64(120))
    recency = p.u64(144)
    useTimeCount = Int(clamping: p.u64(152))
    guard let entrySums = CheckpointHeader.entrySums(bytes) else { return nil }
    self.entrySums = entrySums
    if isRoot { (pieceWordCount, owedWordCount) = (Int(clamping: p.u64(488)), Int(clamping: p.u64(496))) }
    let most = 1 << 40
    guard pieceWordCount < most, owedWordCount < most, keyCount < most, blobCount < most,
      segmentCount <= SegmentTable.slotLimit,
      largeCountCount < most,
      useTimeCount <= CacheFormat.mostUseTimes, logicalByteCount < 1 << 60, bodyWordCount < most,
      generation < UInt64(1) << 62, recency < UInt64(1) << 62, position.use < WALPosition.largestUse,
      position.sequence < Sequence.limit,
      position.offset <= CacheFormat.largestWALFile,
      nextSegment < UInt64(1) << 62,
      expectedBodyWords == bodyWordCount
    else { return nil }
  }

  /// Whether the entries are in pieces.
  package var isRoot: Bool { version == CacheFormat.version }

  private var expectedBodyWords: Int {
    if isRoot { return segmentCount * CheckpointHeader.segmentWords + pieceWordCount + useTimeCount * 2 }
    return CheckpointHeader.bodyWords(
      keys: keyCount, blobs: blobCount, segments: segmentCount, largeCounts: largeCountCount, useTimes: useTimeCount)
  }

  private static func entrySums(_ bytes: UnsafeRawBufferPointer) -> [EntrySum]? {
    let p = bytes.baseAddress!
    guard p.u64(168) <= mostEntrySums else { return nil }
    var sums: [EntrySum] = []
    for index in 0..<Int(p.u64(168)) {
      let place = 176 + index * 24
      guard p.u64(place) <= 1 << 16, p.u64(place + 8) < 1 << 40, p.u64(place + 16) < 1 << 60 else {
        return nil
      }
      sums.append(
        EntrySum(group: Int(p.u64(place)), entryCount: Int(p.u64(place + 8)), byteCount: Int(p.u64(place + 16))))
    }
    return sums
  }

  /// Returns the version of an intact header that this library does not know; nil for a known version or a damaged
  /// header.
  package static func newerVersion(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard bytes.count >= usedByteCount, let p = bytes.baseAddress, p.u64(0) == magic, p.u64(504) == checksum(bytes),
      CacheFormat.isNewer(p.u32(8))
    else { return nil }
    return p.u32(8)
  }

  /// A header torn by power loss: each sector is whole or blank, and the sectors do not match.
  struct Torn {
    /// The position in the first sector, unless that is blank.
    let position: WALPosition?
  }

  /// Returns nil if a loss of power cannot have left these bytes.
  static func torn(_ bytes: UnsafeRawBufferPointer) -> Torn? {
    guard bytes.count >= usedByteCount, let p = bytes.baseAddress else { return nil }
    let (head, copy) = (
      UnsafeRawBufferPointer(rebasing: bytes[0..<512]), UnsafeRawBufferPointer(rebasing: bytes[512..<1024])
    )
    let isHeadBlank = head.allSatisfy { $0 == 0 }
    let isHeadWhole = p.u64(0) == magic && hasFirstChecksum(bytes) || isHeadBlank
    var isCopyWhole = copy.allSatisfy { $0 == 0 }
    if case .valid = StoreIdentity.read(copy) { isCopyWhole = true }
    guard isHeadWhole, isCopyWhole, p.u64(504) != checksum(bytes) else { return nil }
    return Torn(position: isHeadBlank ? nil : position(bytes))
  }

  private static func position(_ bytes: UnsafeRawBufferPointer) -> WALPosition {
    let p = bytes.baseAddress!
    return WALPosition(use: p.u64(40), offset: Int(clamping: p.u64(48)), sequence: p.u64(56))
  }

  /// Earlier builds have written zero in place of the checksum.
  private static func hasFirstChecksum(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let found = bytes.baseAddress!.u64(160)
    return found == 0 || found == firstChecksum(bytes)
  }

  /// The checksum of the first sector, without its own place. Computed after the checksum at 504, which it covers.
  package static func firstChecksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    Checksum.of(
      UnsafeRawBufferPointer(rebasing: bytes[0..<160]), UnsafeRawBufferPointer(rebasing: bytes[168..<512]), seed: magic)
  }

  /// The checksum of the whole header. Treats the checksum at 160 as zero, because that one is computed later.
  package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    withUnsafeTemporaryAllocation(byteCount: 504, alignment: 8) { head in
      head.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<504]))
      head.storeBytes(of: 0, toByteOffset: 160, as: UInt64.self)
      return Checksum.of(UnsafeRawBufferPointer(head), UnsafeRawBufferPointer(rebasing: bytes[512..<1024]), seed: magic)
    }
  }

  package func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: CheckpointHeader.byteCount)
    buffer.append(CheckpointHeader.magic)
    buffer.append(version)
    buffer.append(UInt32(isClean ? 1 : 0))
    for value in [
      identity.store.low, identity.store.high, generation, position.use, UInt64(position.offset), position.sequence,
      opening, nextRecord, UInt64(keyCount), UInt64(blobCount), UInt64(segmentCount), UInt64(largeCountCount),
      UInt64(logicalByteCount), UInt64(bodyWordCount), UInt64(bitPattern: made), nextSegment,
      recency, UInt64(useTimeCount),
    ] { buffer.append(value) }
    buffer.pad(to: 168)
    buffer.append(UInt64(entrySums.count))
    for sum in entrySums {
      for value in [UInt64(sum.group), UInt64(sum.entryCount), UInt64(sum.byteCount)] { buffer.append(value) }
    }
    buffer.pad(to: 488)
    buffer.append(UInt64(pieceWordCount))
    buffer.append(UInt64(owedWordCount))
    buffer.pad(to: 512)
    buffer.append(identity.encoded())
    buffer.set(CheckpointHeader.checksum(buffer.bytes), at: 504)
    buffer.set(CheckpointHeader.firstChecksum(buffer.bytes), at: 160)
    buffer.pad(to: CheckpointHeader.byteCount)
    return Array(buffer.bytes)
  }

  package static func bodyWords(keys: Int, blobs: Int, segments: Int, largeCounts: Int, useTimes: Int) -> Int {
    segments * segmentWords + KeyShards.count + keys * 2 + KeyShards.count + blobs + largeCounts * 2 + useTimes * 2
  }

  /// Returns the length of a checkpoint file for that many entries.
  package static func fileByteCount(keys: Int, blobs: Int, segments: Int, largeCounts: Int) -> Int {
    let words = bodyWords(
      keys: keys, blobs: blobs, segments: segments, largeCounts: largeCounts, useTimes: CacheFormat.mostUseTimes)
    return byteCount + (words + wordsPerBlock - 1) / wordsPerBlock * blockByteCount
  }

  /// The most pieces of a root.
  package static let mostPieces = 256

  /// Returns the length of a file for a root with that many segments and an area of that many blocks. In the worst
  /// case, each block of the area is a range of its own.
  package static func rootByteCount(segments: Int, areaBlocks: Int) -> Int {
    let words =
      segments * segmentWords + mostPieces * Piece.rootWords + areaBlocks + CacheFormat.mostUseTimes * 2
    let last = words % wordsPerBlock
    return byteCount + words / wordsPerBlock * blockByteCount
      + (last == 0 ? 0 : roundUp(blockHeaderByteCount + last * 8, to: 4096))
  }

  /// The bytes of the file up to the last word of the body.
  package var leastFileByteCount: Int {
    let blocks = (bodyWordCount + CheckpointHeader.wordsPerBlock - 1) / CheckpointHeader.wordsPerBlock
    return CheckpointHeader.byteCount + blocks * CheckpointHeader.blockHeaderByteCount + bodyWordCount * 8
  }

  package static func blockSeed(_ store: StoreID, generation: UInt64, index: Int) -> UInt64 {
    Checksum.seed(store.low, store.high, generation, UInt64(index))
  }

  package static func fileName(_ index: Int) -> String { "\(index).checkpoint" }

  private enum KeyShards { static let count = 64 }
}

/// Writes the body of a checkpoint, word by word.
package final class CheckpointBodyWriter {
  private let file: any File
  private let store: StoreID
  private let generation: UInt64
  private let buffer = ByteBuffer(capacity: CheckpointHeader.blockByteCount)
  private var block = 0
  package private(set) var wordCount = 0
  /// The first write that failed; later words are not written.
  package private(set) var failure: SystemError?

  package init(file: any File, store: StoreID, generation: UInt64) {
    self.file = file
    self.store = store
    self.generation = generation
    begin()
  }

  private func begin() {
    buffer.removeAll()
    buffer.pad(to: CheckpointHeader.blockHeaderByteCount)
  }

  package func append(_ word: UInt64) {
    buffer.append(word)
    wordCount += 1
    if buffer.count == CheckpointHeader.blockByteCount { writeBlock() }
  }

  private func writeBlock() {
    guard failure == nil else { return begin() }
    buffer.set(UInt32(block), at: 8)
    buffer.set(UInt32((buffer.count - CheckpointHeader.blockHeaderByteCount) / 8), at: 12)
    let seed = CheckpointHeader.blockSeed(store, generation: generation, index: block)
    buffer.set(Checksum.of(UnsafeRawBufferPointer(rebasing: buffer.bytes[8...]), seed: seed), at: 0)
    do throws(SystemError) {
      try file.write(
        buffer.bytes, at: CheckpointHeader.byteCount + block * CheckpointHeader.blockByteCount)
    } catch {
      failure = error
    }
    block += 1
    begin()
  }

  package func finish() throws(SystemError) {
    if buffer.count > CheckpointHeader.blockHeaderByteCount { writeBlock() }
    if let failure { throw failure }
  }
}

/// Reads the body of a checkpoint word by word. Each block is checked before its first word is returned.
package final class CheckpointBodyReader {
  private let file: any File
  private let header: CheckpointHeader
  private let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: CheckpointHeader.blockByteCount, alignment: 64)
  private var block = 0
  private var word = 0
  private var wordsInBlock = 0
  private var given = 0
  /// Set if a block could not be read.
  package private(set) var failure: SystemError?

  package init(file: any File, header: CheckpointHeader) {
    self.file = file
    self.header = header
  }

  deinit { memory.deallocate() }

  /// Returns the next word; nil at the end, and in a damaged block.
  @inline(__always)
  package func next() -> UInt64? {
    if word == wordsInBlock, !loadBlock() { return nil }
    defer { word += 1 }
    return UnsafeRawPointer(memory.baseAddress!).u64(CheckpointHeader.blockHeaderByteCount + word * 8)
  }

  private func loadBlock() -> Bool {
    let expected = min(header.bodyWordCount - given, CheckpointHeader.wordsPerBlock)
    guard expected > 0 else { return false }
    let byteCount = CheckpointHeader.blockHeaderByteCount + expected * 8
    let offset = CheckpointHeader.byteCount + block * CheckpointHeader.blockByteCount
    do throws(SystemError) {
      guard
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[0..<byteCount]), at: offset) == byteCount
      else { return false }
    } catch {
      failure = error
      return false
    }
    let p = UnsafeRawPointer(memory.baseAddress!)
    let seed = CheckpointHeader.blockSeed(header.identity.store, generation: header.generation, index: block)
    guard p.u32(8) == UInt32(truncatingIfNeeded: block), Int(p.u32(12)) == expected,
      p.u64(0) == Checksum.of(UnsafeRawBufferPointer(start: p + 8, count: byteCount - 8), seed: seed)
    else { return false }
    block += 1
    word = 0
    wordsInBlock = expected
    given += expected
    return true
  }
}
