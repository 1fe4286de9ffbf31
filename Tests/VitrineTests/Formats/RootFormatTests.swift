import Testing

@testable import Vitrine

/// Roots and pieces with right checksums and any content: they are refused or read, and never trap.
@Suite struct RootFormatTests {
  /// A root with several parts and deltas, and the area.
  private struct Root {
    var header: CheckpointHeader
    var words: [UInt64]
    var area: [UInt8]
    let store: StoreID
    let pieces: [Piece]

    init() throws {
      let disk = MemoryDisk()
      let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 64 << 20))
      for round in 0..<6 {
        var batch = WriteBatch()
        for number in 0..<(round == 0 ? 12_000 : 400) {
          batch.put([UInt8(round)], for: CacheKey("u\(round * 300 + number)"))
        }
        try store.write(batch)
        try store.checkpoint()
      }
      store.abandon()
      let folder = try disk.openDirectory("", create: false).openDirectory("checkpoints", create: false)
      let checkpoints = try CheckpointSet.open(folder, access: .readOnly)
      let slot = checkpoints.slots[try #require(checkpoints.order.first)]
      header = try #require(slot.header)
      let file = try #require(slot.file)
      let body = CheckpointBodyReader(file: file, header: header)
      words = []
      while let word = body.next() { words.append(word) }
      area = try #require(disk.image["checkpoints/area"])
      self.store = header.identity.store
      pieces = try #require(RootBody.pieces(from: file, header: header))
    }

    func read() throws -> LoadedIndex? {
      let disk = MemoryDisk(["checkpoints/0.checkpoint": [], "checkpoints/area": area])
      let folder = try disk.openDirectory("", create: false).openDirectory("checkpoints", create: false)
      let file = try folder.openFile("0.checkpoint", .readWrite)
      let writer = CheckpointBodyWriter(file: file, store: store, generation: header.generation)
      for word in words { writer.append(word) }
      try writer.finish()
      guard let found = header.encoded().withUnsafeBytes({ CheckpointHeader($0) }) else { return nil }
      let area = try folder.openFile("area", .readOnly)
      guard let writer = CatalogWriter.read(from: file, header: found, area: area) else { return nil }
      return LoadedIndex(writer)
    }

    /// Changes a word of a piece and updates the checksum of its block.
    mutating func change(_ piece: Piece, word: Int, to value: UInt64) {
      let index = word / Piece.wordsPerBlock
      var block = 0
      var left = index
      for range in piece.ranges {
        if left < range.count {
          block = range.start + left
          break
        }
        left -= range.count
      }
      let start = block * Piece.blockByteCount
      let count = min(Piece.wordsPerBlock, piece.wordCount - index * Piece.wordsPerBlock)
      let end = start + Piece.blockHeaderByteCount + count * 8
      let place = start + Piece.blockHeaderByteCount + word % Piece.wordsPerBlock * 8
      withUnsafeBytes(of: value.littleEndian) { area.replaceSubrange(place..<place + 8, with: $0) }
      let sum = area[(start + 8)..<end].withUnsafeBytes { Checksum.of($0, seed: piece.seed(store, index)) }
      withUnsafeBytes(of: sum.littleEndian) { area.replaceSubrange(start..<start + 8, with: $0) }
    }
  }

  @Test func theRootHasPiecesOfBothKinds() throws {
    let root = try Root()
    #expect(root.pieces.count { $0.kind == .part } > 2 && root.pieces.contains { $0.kind == .delta })
    #expect(try root.read()?.writer.keyCount == root.header.keyCount)
  }

  private static func value(_ word: UInt64, _ random: inout SeededRandom) -> UInt64 {
    switch random.below(5) {
    case 0: word ^ 1 << UInt64(random.below(64))
    case 1: word &+ UInt64(random.below(5)) &- 2
    case 2: 0
    case 3: .max
    default: random.next()
    }
  }

  @Test(arguments: RandomRuns.seeds([1, 2, 3])) func anyWordsInARootAreHarmless(_ seed: UInt64) throws {
    let root = try Root()
    var random = SeededRandom(seed: seed)
    let first = root.header.segmentCount * CheckpointHeader.segmentWords
    var refused = 0
    for _ in 0..<RandomRuns.share(of: 60) {
      var changed = root
      for _ in 0..<1 + random.below(2) {
        let place = first + random.below(root.header.pieceWordCount)
        changed.words[place] = Self.value(root.words[place], &random)
      }
      if try changed.read() == nil { refused += 1 }
    }
    #expect(refused > 0)
  }

  @Test func countsOfPiecesOutsideTheirBoundsAreRefused() throws {
    let root = try Root()
    for count in [0, 1, root.header.pieceWordCount - 1, root.header.pieceWordCount + 1, 1 << 40, 1 << 50] {
      var changed = root
      changed.header.pieceWordCount = count
      #expect(try changed.read() == nil, "\(count)")
      changed.header.bodyWordCount += count - root.header.pieceWordCount
      #expect(try changed.read() == nil, "\(count)")
    }
  }

  @Test(arguments: RandomRuns.seeds([1, 2, 3])) func anyWordsInAPieceAreHarmless(_ seed: UInt64) throws {
    let root = try Root()
    var random = SeededRandom(seed: seed)
    var refused = 0
    for _ in 0..<RandomRuns.share(of: 60) {
      var changed = root
      let piece = root.pieces[random.below(root.pieces.count)]
      let word = random.chance(50) ? random.below(min(130, piece.wordCount)) : random.below(piece.wordCount)
      changed.change(piece, word: word, to: Self.value(random.next(), &random))
      if try changed.read() == nil { refused += 1 }
    }
    #expect(refused > 0)
  }

  /// As after a loss of the end of the file.
  @Test func anAreaThatIsTooShortIsRefused() throws {
    var root = try Root()
    let end = root.pieces.flatMap(\.ranges).map(\.end).max() ?? 0
    for blocks in [0, 1, end - 1] {
      root.area = Array(root.area.prefix(blocks * Piece.blockByteCount))
      #expect(try root.read() == nil)
    }
  }
}
