/// A piece of the index: words of 64 bits in blocks of the area, which need not be adjacent.
///
/// A *part* holds the entries and payloads of some shards of the tables. A *delta* holds the changes of some shards
/// after the parts and the earlier deltas.
///
/// ```
/// a block: u64 checksum   8 u32 index in the piece   12 u32 words in it   16 words
/// ```
///
/// The checksum covers bytes 8 to the end of the last word. Its seed has the store, the number of the piece and the
/// index, so a block of another piece never passes. No two attempts to write a piece use the same number.
///
/// The words: the kind, and the shards as a set of bits; for each of these shards, in order, the number of key facts
/// and that of payload words; then for each of these shards the key facts, two words each, and the payload words.
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
  /// The shards for which the piece is valid, as bits. It may hold words of other shards, which are ignored.
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

  /// Reads a piece of a root. Returns nil if the words are not a piece, or name blocks beyond the limit of an area.
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
  /// Mapped memory. The general allocator would keep parts of it between the pieces of a checkpoint.
  private let memory: PageMemory
  private let words: UnsafeMutablePointer<UInt64>
  private let mostBlocks: Int
  /// The index in `words` of the next word, and the number of words in complete blocks, with their headers.
  @exclusivity(unchecked) private var position = PieceWriter.headerWords
  @exclusivity(unchecked) private var wholeWords = 0
  /// The number of blocks written to the area.
  private var blocksWritten = 0
  private var cursor: BlockCursor
  /// The first write that failed; later words are not written.
  private var failure: SystemError?

  private static let headerWords = Piece.blockHeaderByteCount / 8
  private static let wordsOfBlock = Piece.blockByteCount / 8

  package init(area: any File, store: StoreID, piece: Piece) throws(SystemError) {
    self.area = area
    self.store = store
    self.piece = piece
    cursor = BlockCursor(piece.ranges)
    mostBlocks = min(PieceWriter.mostBlocks, piece.blockCount)
    guard let memory = PageMemory(byteCount: mostBlocks * Piece.blockByteCount) else {
      throw SystemError(code: SystemError.noMemory, operation: "write the index", path: area.path)
    }
    self.memory = memory
    words = memory.start.bindMemory(to: UInt64.self, capacity: memory.byteCount / 8)
  }

  deinit { memory.free() }

  @inline(__always)
  package func append(_ word: UInt64) {
    words[position] = word
    position += 1
    if position - wholeWords == PieceWriter.wordsOfBlock { endBlock() }
  }

  /// Writes the rest. The words appended must be as many as the piece has.
  package func finish() throws(SystemError) {
    let inBlock = position - wholeWords - PieceWriter.headerWords
    let whole = (blocksWritten + wholeWords / PieceWriter.wordsOfBlock) * Piece.wordsPerBlock
    precondition(whole + inBlock == piece.wordCount, "the blocks were taken for another number of words")
    if inBlock > 0 { endBlock() }
    writeBlocks()
    if let failure { throw failure }
  }

  private func endBlock() {
    let index = blocksWritten + wholeWords / PieceWriter.wordsOfBlock
    let count = position - wholeWords - PieceWriter.headerWords
    let block = words + wholeWords
    block[1] = UInt64(UInt32(truncatingIfNeeded: index)) | UInt64(count) << 32
    let bytes = UnsafeRawBufferPointer(start: block + 1, count: (count + 1) * 8)
    block[0] = Checksum.of(bytes, seed: piece.seed(store, index))
    // Only the last block may be partly filled, and no block follows it.
    wholeWords += PieceWriter.wordsOfBlock
    if wholeWords / PieceWriter.wordsOfBlock == mostBlocks {
      writeBlocks()
    } else {
      position = wholeWords + PieceWriter.headerWords
    }
  }

  private func writeBlocks() {
    let count = wholeWords / PieceWriter.wordsOfBlock
    var written = 0
    while written < count, failure == nil {
      let range = cursor.next(atMost: count - written)
      let isLast = blocksWritten + written + range.count == piece.blockCount
      let spare = isLast ? (piece.blockCount * Piece.wordsPerBlock - piece.wordCount) * 8 : 0
      let start = words + written * PieceWriter.wordsOfBlock
      do throws(SystemError) {
        try area.write(
          UnsafeRawBufferPointer(start: start, count: range.count * Piece.blockByteCount - spare),
          at: range.start * Piece.blockByteCount)
      } catch {
        failure = error
      }
      written += range.count
    }
    blocksWritten += count
    wholeWords = 0
    position = PieceWriter.headerWords
  }
}

/// Reads the words of a piece in order. Each block is checked before its first word is returned.
package final class PieceReader {
  private static let wordsOfBlock = Piece.blockByteCount / 8
  private let area: any File
  private let store: StoreID
  private let piece: Piece
  /// Blocks as they are read. Their words are then moved together.
  private let memory: UnsafeMutablePointer<UInt64>
  private let mostBlocks: Int
  private var cursor: BlockCursor
  private var blocksRead = 0
  /// The words in memory that were not returned yet.
  @exclusivity(unchecked) private var position = 0
  @exclusivity(unchecked) private var end = 0
  /// Set if a block could not be read.
  package private(set) var failure: SystemError?

  /// Reads at most `mostBlocks` blocks at a time, and takes as much memory.
  package init(area: any File, store: StoreID, piece: Piece, mostBlocks: Int = 64) {
    self.area = area
    self.store = store
    self.piece = piece
    self.mostBlocks = min(piece.blockCount, mostBlocks)
    cursor = BlockCursor(piece.ranges)
    memory = .allocate(capacity: self.mostBlocks * PieceReader.wordsOfBlock)
  }

  deinit { memory.deallocate() }

  /// Returns the next word; nil at the end, and in a damaged block.
  @inline(__always)
  package func next() -> UInt64? {
    if position == end, !load() { return nil }
    defer { position += 1 }
    return memory[position]
  }

  /// Returns at most `count` words that follow, as a multiple of `unit` (1 or 2). They are valid until the next call.
  /// Returns nil at the end, and in a damaged block.
  @inline(__always)
  package func words(atMost count: Int, unit: Int) -> UnsafeBufferPointer<UInt64>? {
    if end - position < unit, !load() { return nil }
    let taken = min(count, (end - position) / unit * unit)
    if taken == 0 { return nil }
    defer { position += taken }
    return UnsafeBufferPointer(start: memory + position, count: taken)
  }

  /// Skips words. Returns false at the end, and in a damaged block.
  func skip(_ count: Int) -> Bool {
    var left = count
    while left > 0 {
      guard let words = words(atMost: left, unit: 1) else { return false }
      left -= words.count
    }
    return true
  }

  /// Reads and checks the next blocks. At most one word may be left in memory; it stays in front of the new ones.
  private func load() -> Bool {
    let left = position < end ? memory[position] : nil
    let header = Piece.blockHeaderByteCount / 8
    let count = min(mostBlocks, piece.blockCount - blocksRead)
    guard count > 0, read(count) else {
      (position, end, blocksRead) = (0, 0, piece.blockCount)
      return false
    }
    end = header
    for block in 0..<count {
      let start = block * PieceReader.wordsOfBlock
      guard let words = wordCount(ofBlock: blocksRead + block, at: memory + start) else {
        (position, end, blocksRead) = (0, 0, piece.blockCount)
        return false
      }
      if block > 0 { (memory + end).update(from: memory + start + header, count: words) }
      end += words
    }
    blocksRead += count
    position = header
    if let left {
      position -= 1
      memory[position] = left
    }
    return true
  }

  /// Returns the number of words in a block; nil if it is damaged or foreign.
  private func wordCount(ofBlock index: Int, at start: UnsafePointer<UInt64>) -> Int? {
    let expected = min(piece.wordCount - index * Piece.wordsPerBlock, Piece.wordsPerBlock)
    let p = UnsafeRawPointer(start)
    let bytes = UnsafeRawBufferPointer(start: p + 8, count: Piece.blockHeaderByteCount - 8 + expected * 8)
    guard p.u32(8) == UInt32(truncatingIfNeeded: index), Int(p.u32(12)) == expected,
      p.u64(0) == Checksum.of(bytes, seed: piece.seed(store, index))
    else { return nil }
    return expected
  }

  private func read(_ count: Int) -> Bool {
    let memory = UnsafeMutableRawBufferPointer(start: memory, count: mostBlocks * Piece.blockByteCount)
    var done = 0
    while done < count {
      let range = cursor.next(atMost: count - done)
      let start = done * Piece.blockByteCount
      let isLast = blocksRead + done + range.count == piece.blockCount
      // The file may end with the last word of its last piece.
      let spare = isLast ? (piece.blockCount * Piece.wordsPerBlock - piece.wordCount) * 8 : 0
      let buffer = UnsafeMutableRawBufferPointer(
        rebasing: memory[start..<start + range.count * Piece.blockByteCount - spare])
      do throws(SystemError) {
        guard try area.read(into: buffer, at: range.start * Piece.blockByteCount) == buffer.count else { return false }
      } catch {
        failure = error
        return false
      }
      done += range.count
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

  /// Returns the next adjacent blocks. At least one block must be left.
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
