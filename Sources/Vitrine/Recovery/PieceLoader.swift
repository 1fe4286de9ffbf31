/// Fills the tables of an index from pieces, one shard after another: first the shard's part, then its deltas. So a
/// shard stays in the processor's cache while it is changed and checked.
package struct PieceLoader {
  let area: any File
  let store: StoreID
  /// The recency clock of the root, or a later reading from which stamps are to count.
  let clock: UInt64
  /// The entries and payloads that the root counts. They decide how large the tables are made.
  let (keyCount, blobCount): (Int, Int)

  package init(area: any File, store: StoreID, clock: UInt64, keyCount: Int = 0, blobCount: Int = 0) {
    (self.area, self.store, self.clock) = (area, store, clock)
    (self.keyCount, self.blobCount) = (keyCount, blobCount)
  }

  /// A piece that is read shard by shard.
  private struct Source {
    /// The blocks that a source has in memory, so that a hundred of them take little.
    private static let mostBlocks = 16

    let piece: Piece
    let reader: PieceReader
    private var shards: ArraySlice<PieceShard>

    /// Returns nil if the piece is damaged.
    init?(_ piece: Piece, _ loader: PieceLoader) {
      self.piece = piece
      reader = PieceReader(area: loader.area, store: loader.store, piece: piece, mostBlocks: Source.mostBlocks)
      guard let shards = reader.readHead(piece) else { return nil }
      self.shards = shards[...]
    }

    /// Returns the sizes of a shard; nil if the piece does not count for it. `isWhole` becomes false if its facts
    /// cannot be passed. The shards are asked for in order.
    mutating func next(_ shard: Int, isWhole: inout Bool) -> PieceShard? {
      guard let first = shards.first, first.index == shard else { return nil }
      shards.removeFirst()
      if piece.shards & 1 << UInt64(shard) != 0 { return first }
      isWhole = isWhole && reader.skip(first.wordCount)
      return nil
    }
  }

  /// Fills empty tables from the pieces of a root. Returns false if a piece is damaged or contradicts another, or if
  /// memory is short. `names` returns whether a location lies in a segment. Older pieces may have entries of segments
  /// that were retired since, so only the resulting tables are checked against the segments.
  @inline(__always)
  package func fill(
    _ index: inout CatalogWriter, from pieces: [Piece], names: (Location) -> Bool, note: (KeySlot) -> Void
  ) -> Bool {
    guard var sources = open(pieces) else { return false }
    for shard in 0..<KeyTable.shardCount {
      var isRight = true
      var counting: [(source: Source, sizes: PieceShard)] = []
      for place in sources.indices {
        if let sizes = sources[place].next(shard, isWhole: &isRight) { counting.append((sources[place], sizes)) }
      }
      guard isRight, fill(shard, &index, from: counting) else { return false }
      index.keyCount += index.keys.count(shard: shard)
      index.blobCount += index.contents.count(shard: shard)
      index.keys.forEach(shard: shard) { slot in
        isRight = isRight && names(slot.location)
        note(slot)
      }
      index.contents.forEach(shard: shard) { isRight = isRight && names(ContentTable.location(ofWord: $0)) }
      if !isRight { return false }
    }
    return true
  }

  /// Opens the pieces: parts first, then the deltas in order. Returns nil unless there is one part for each shard.
  private func open(_ pieces: [Piece]) -> [Source]? {
    guard let byteCount = try? area.status().byteCount,
      pieces.allSatisfy({ $0.ranges.allSatisfy { ($0.end - 1) * Piece.blockByteCount < byteCount } })
    else { return nil }
    var covered: UInt64 = 0
    for piece in pieces where piece.kind == .part {
      guard covered & piece.shards == 0 else { return nil }
      covered |= piece.shards
    }
    guard covered == PiecePlan.allShards else { return nil }
    var sources: [Source] = []
    for kind in [Piece.Kind.part, .delta] {
      for piece in pieces where piece.kind == kind {
        guard let source = Source(piece, self) else { return nil }
        sources.append(source)
      }
    }
    return sources
  }

  /// Fills one shard from the pieces that count for it, the part first.
  private func fill(
    _ shard: Int, _ index: inout CatalogWriter, from sources: [(source: Source, sizes: PieceShard)]
  ) -> Bool {
    guard let part = sources.first else { return false }
    let facts = sources.dropFirst()
    // All payload facts of a piece follow its key facts, so each piece is passed once through both tables.
    let keyRoom = room(sources.map(\.sizes.keyCount), of: keyCount)
    let payloadRoom = room(sources.map(\.sizes.payloadCount), of: blobCount)
    return index.keyWriter.fill(shard: shard, room: keyRoom) { keys, keyShard in
      index.contentWriter.fill(shard: shard, room: payloadRoom) { contents, contentShard in
        guard append(part.source, part.sizes, &keys, keyShard, &contents, contentShard) else { return false }
        for delta in facts {
          guard apply(delta.source, delta.sizes, &keys, keyShard, &contents, contentShard) else { return false }
        }
        return true
      }
    }
  }

  /// The entries for which a shard gets room: those of its part, or somewhat more than its share of all, but no more
  /// than its pieces have.
  private func room(_ counts: [Int], of all: Int) -> Int {
    let share = all / KeyTable.shardCount
    return max(counts[0], min(counts.reduce(0, +), share + 3 * Int(Double(share).squareRoot())))
  }

  private func append(
    _ source: Source, _ sizes: PieceShard, _ keys: inout KeyTableWriter.Filler, _ keyShard: borrowing KeyTable.Held,
    _ contents: inout ContentTableWriter.Filler, _ contentShard: borrowing ContentTable.Held
  ) -> Bool {
    var left = 2 * sizes.keyCount
    while left > 0 {
      guard let words = source.reader.words(atMost: left, unit: 2) else { return false }
      for place in stride(from: 0, to: words.count, by: 2) {
        var slot = KeySlot(word0: words[place], word1: words[place + 1]).kept
        slot.stamp = RecencyClock.rebased(slot.stamp, from: source.piece.clock, to: clock)
        if !keys.append(slot, keyShard) { return false }
      }
      left -= words.count
    }
    var wideCount = 0
    for _ in 0..<sizes.payloadCount {
      guard let word = source.reader.next(), contents.append(word, contentShard) else { return false }
      if ContentTable.hasLargeCount(word) {
        guard let count = source.reader.next(), (4...UInt64(ContentTableWriter.mostUsers)).contains(count) else {
          return false
        }
        contents.setLargeCount(Int(count), ofWord: word)
        wideCount += 1
      }
    }
    return wideCount == sizes.wideCount
  }

  private func apply(
    _ source: Source, _ sizes: PieceShard, _ keys: inout KeyTableWriter.Filler, _ keyShard: borrowing KeyTable.Held,
    _ contents: inout ContentTableWriter.Filler, _ contentShard: borrowing ContentTable.Held
  ) -> Bool {
    let piece = source.piece
    return source.reader.readFacts(
      sizes,
      key: { fact in
        let fact = fact.rebased(from: piece.clock, to: clock)
        if fact.isGone { return keys.remove(fact.slot.hash(shard: fact.shard), fact.slot.location, keyShard) }
        return keys.insert(fact.slot, keyShard)
      },
      payload: { contents.apply($0, contentShard) })
  }
}
