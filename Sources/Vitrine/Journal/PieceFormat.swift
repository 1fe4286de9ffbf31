/// A piece of the index: words of 64 bits in blocks of the area, which need not be adjacent.
///
/// A *part* holds the entries and payloads of some shards of the tables. A *delta* holds changes of some shards, which
/// follow those of earlier deltas and the parts.
///
/// ```
/// a block: u64 checksum   8 u32 index in the piece   12 u32 words in it   16 words
/// ```
///
/// The checksum covers bytes 8 to the end of the last word. Its seed has the store, the number of the piece and the
/// index, so a block of another piece never passes. No two attempts to write a piece use the same number.
///
/// The words: the kind, and the shards as a set of bits; for each of these shards, in order, the number of key facts and
/// that of payload words; then for each of these shards the key facts, two words each, and the payload words.
package struct Piece: Sendable, Equatable {
  package enum Kind: UInt64, Sendable { case part, delta }

  package static let blockByteCount = 4096
  package static let blockHeaderByteCount = 16
  package static let wordsPerBlock = (blockByteCount - blockHeaderByteCount) / 8
  /// The words of a piece in a root, without its ranges.
  package static let rootWords = 5

  /// The upper bits have the number of the opening.
  package let number: UInt64
  package let kind: Kind
  /// The shards for which it counts, as bits. The piece may hold more.
  package var shards: UInt64
  package let wordCount: Int
  /// The recency clock to which its stamps refer (``RecencyClock/count``).
  package let clock: UInt64
  package var ranges: [BlockRange]

  package init(number: UInt64, kind: Kind, shards: UInt64, wordCount: Int, clock: UInt64, ranges: [BlockRange]) {
    self.number = number
    self.kind = kind
    self.shards = shards
    self.wordCount = wordCount
    self.clock = clock
    self.ranges = ranges
  }

  /// The words in front of the facts.
  package static func headWords(_ shards: UInt64) -> Int { 2 + 2 * shards.nonzeroBitCount }

  package static func blockCount(words: Int) -> Int { (words + wordsPerBlock - 1) / wordsPerBlock }

  package var blockCount: Int { Piece.blockCount(words: wordCount) }

  func seed(_ store: StoreID, _ index: Int) -> UInt64 { Checksum.seed(store.low, store.high, number, UInt64(index)) }

  // MARK: In a root

  package func encode(_ append: (UInt64) -> Void) {
    append(number)
    append(shards)
    append(kind.rawValue << 56 | UInt64(wordCount))
    append(clock)
    append(UInt64(ranges.count))
    for range in ranges { append(UInt64(range.start) << 32 | UInt64(range.count)) }
  }

  /// Reads a piece of a root. Returns nil if the words are none, or name blocks beyond the limit of an area.
  package init?(_ next: () -> UInt64?) {
    guard let number = next(), let shards = next(), let size = next(), let clock = next(),
      let rangeCount = next(),
      let kind = Kind(rawValue: size >> 56), number < UInt64(1) << 62, shards != 0,
      case let wordCount = Int(size & (1 << 56 - 1)), wordCount < 1 << 40, wordCount >= Piece.headWords(shards),
      rangeCount <= Piece.blockCount(words: wordCount)
    else { return nil }
    var ranges: [BlockRange] = []
    var blockCount = 0
    for _ in 0..<rangeCount {
      guard let word = next(), case let range = BlockRange(start: Int(word >> 32), count: Int(word & 0xFFFF_FFFF)),
        range.count > 0, range.end <= BlockRange.limit
      else { return nil }
      ranges.append(range)
      blockCount += range.count
    }
    guard blockCount == Piece.blockCount(words: wordCount) else { return nil }
    self.init(number: number, kind: kind, shards: shards, wordCount: wordCount, clock: clock, ranges: ranges)
  }
}

/// Adjacent blocks of the area.
package struct BlockRange: Sendable, Equatable {
  /// The most blocks of an area: 16 TiB.
  package static let limit = Int(UInt32.max)

  package var start: Int
  package var count: Int

  package init(start: Int, count: Int) {
    self.start = start
    self.count = count
  }

  package var end: Int { start + count }
}

/// Writes the words of a piece to its blocks, up to 64 adjacent ones at a time. Without a sync.
package final class PieceWriter {
  private static let mostBlocks = 64
  private let area: any File
  private let store: StoreID
  private let piece: Piece
  private let buffer = ByteBuffer(capacity: mostBlocks * Piece.blockByteCount)
  /// The blocks that are in the buffer whole, and the index of the first one in the piece.
  private var blocksInBuffer = 0
  private var firstInBuffer = 0
  private var blockStart = 0
  private var cursor: BlockCursor
  private var wordCount = 0
  /// The first write that failed; later words are not written.
  private var failure: SystemError?

  package init(area: any File, store: StoreID, piece: Piece) {
    self.area = area
    self.store = store
    self.piece = piece
    cursor = BlockCursor(piece.ranges)
    buffer.pad(to: Piece.blockHeaderByteCount)
  }

  package func append(_ word: UInt64) {
    buffer.append(word)
    wordCount += 1
    if buffer.count - blockStart == Piece.blockByteCount { endBlock() }
  }

  /// Writes the rest. The words appended must be as many as the piece has.
  package func finish() throws(SystemError) {
    precondition(wordCount == piece.wordCount, "the blocks were taken for another number of words")
    if buffer.count - blockStart > Piece.blockHeaderByteCount { endBlock() }
    writeBuffer()
    if let failure { throw failure }
  }

  private func endBlock() {
    let index = firstInBuffer + blocksInBuffer
    buffer.set(UInt32(truncatingIfNeeded: index), at: blockStart + 8)
    buffer.set(UInt32((buffer.count - blockStart - Piece.blockHeaderByteCount) / 8), at: blockStart + 12)
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[(blockStart + 8)...])
    buffer.set(Checksum.of(bytes, seed: piece.seed(store, index)), at: blockStart)
    blocksInBuffer += 1
    if blocksInBuffer == PieceWriter.mostBlocks { writeBuffer() }
    blockStart = buffer.count
    buffer.pad(to: blockStart + Piece.blockHeaderByteCount)
  }

  private func writeBuffer() {
    var written = 0
    while written < blocksInBuffer, failure == nil {
      let range = cursor.next(atMost: blocksInBuffer - written)
      let start = written * Piece.blockByteCount
      // The last block of a piece ends with its last word.
      let end = min(start + range.count * Piece.blockByteCount, buffer.count)
      do throws(SystemError) {
        try area.write(
          UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<end]), at: range.start * Piece.blockByteCount)
      } catch {
        failure = error
      }
      written += range.count
    }
    firstInBuffer += blocksInBuffer
    blocksInBuffer = 0
    buffer.removeAll()
    blockStart = 0
  }
}

/// Reads the words of a piece in order. Each block is checked before its first word is returned.
package final class PieceReader {
  private static let mostBlocks = 64
  private let area: any File
  private let store: StoreID
  private let piece: Piece
  private let memory: UnsafeMutableRawBufferPointer
  private var cursor: BlockCursor
  /// The blocks in memory: the index of the first one in the piece, their number, and the present one among them.
  private var firstInMemory = 0
  private var blocksInMemory = 0
  private var block = 0
  private var word = 0
  private var wordsInBlock = 0
  private var wordsLeft: Int
  /// Set if a block could not be read.
  package private(set) var failure: SystemError?

  package init(area: any File, store: StoreID, piece: Piece) {
    self.area = area
    self.store = store
    self.piece = piece
    cursor = BlockCursor(piece.ranges)
    wordsLeft = piece.wordCount
    memory = .allocate(
      byteCount: min(piece.blockCount, PieceReader.mostBlocks) * Piece.blockByteCount, alignment: 4096)
  }

  deinit { memory.deallocate() }

  /// Returns the next word; nil at the end, and in a damaged block.
  @inline(__always)
  package func next() -> UInt64? {
    if word == wordsInBlock, !nextBlock() { return nil }
    defer { word += 1 }
    return UnsafeRawPointer(memory.baseAddress!).u64(
      block * Piece.blockByteCount + Piece.blockHeaderByteCount + word * 8)
  }

  private func nextBlock() -> Bool {
    if wordsLeft == 0 { return false }
    block += 1
    if block >= blocksInMemory, !load() { return false }
    let index = firstInMemory + block
    let expected = min(wordsLeft, Piece.wordsPerBlock)
    let p = UnsafeRawPointer(memory.baseAddress!) + block * Piece.blockByteCount
    let bytes = UnsafeRawBufferPointer(start: p + 8, count: Piece.blockHeaderByteCount - 8 + expected * 8)
    guard p.u32(8) == UInt32(truncatingIfNeeded: index), Int(p.u32(12)) == expected,
      p.u64(0) == Checksum.of(bytes, seed: piece.seed(store, index))
    else {
      wordsLeft = 0
      return false
    }
    word = 0
    wordsInBlock = expected
    wordsLeft -= expected
    return true
  }

  private func load() -> Bool {
    firstInMemory += blocksInMemory
    let count = min(PieceReader.mostBlocks, piece.blockCount - firstInMemory)
    blocksInMemory = 0
    block = 0
    while blocksInMemory < count {
      let range = cursor.next(atMost: count - blocksInMemory)
      let start = blocksInMemory * Piece.blockByteCount
      let isLast = firstInMemory + blocksInMemory + range.count == piece.blockCount
      // The file may end with the last word of its last piece.
      let spare = isLast ? (piece.blockCount * Piece.wordsPerBlock - piece.wordCount) * 8 : 0
      let buffer = UnsafeMutableRawBufferPointer(
        rebasing: memory[start..<start + range.count * Piece.blockByteCount - spare])
      do throws(SystemError) {
        guard try area.read(into: buffer, at: range.start * Piece.blockByteCount) == buffer.count else {
          wordsLeft = 0
          return false
        }
      } catch {
        failure = error
        wordsLeft = 0
        return false
      }
      blocksInMemory += range.count
    }
    return true
  }
}

/// Goes through ranges of blocks.
private struct BlockCursor {
  private let ranges: [BlockRange]
  private var range = 0
  private var used = 0

  init(_ ranges: [BlockRange]) { self.ranges = ranges }

  /// Returns the next adjacent blocks. There must be one.
  mutating func next(atMost count: Int) -> BlockRange {
    let found = ranges[range]
    let next = BlockRange(start: found.start + used, count: min(count, found.count - used))
    used += next.count
    if used == found.count {
      range += 1
      used = 0
    }
    return next
  }
}
