/// Fills the tables of an index from pieces.
package struct PieceLoader {
  let area: any File
  let store: StoreID
  /// The recency clock of the root, or a later reading from which stamps are to count.
  let clock: UInt64

  package init(area: any File, store: StoreID, clock: UInt64) {
    (self.area, self.store, self.clock) = (area, store, clock)
  }

  /// Fills empty tables from the pieces of a root. Returns false if a piece is damaged or contradicts another, or if
  /// memory is short. `names` returns whether a location lies in a segment. Older pieces may have entries of segments
  /// that were retired since, so only the resulting tables are checked against the segments.
  package func fill(
    _ index: inout CatalogWriter, from pieces: [Piece], names: (Location) -> Bool, note: (KeySlot) -> Void
  ) -> Bool {
    guard let byteCount = try? area.status().byteCount,
      pieces.allSatisfy({ $0.ranges.allSatisfy { ($0.end - 1) * Piece.blockByteCount < byteCount } })
    else { return false }
    var covered: UInt64 = 0
    for piece in pieces where piece.kind == .part {
      guard covered & piece.shards == 0 else { return false }
      covered |= piece.shards
      guard fill(&index, from: PieceReader(area: area, store: store, piece: piece), piece) else { return false }
    }
    guard covered == PiecePlan.allShards else { return false }
    for piece in pieces where piece.kind == .delta {
      guard let facts = PieceReader(area: area, store: store, piece: piece).readDelta(piece) else { return false }
      for fact in facts.keys.lazy.map({ $0.rebased(from: piece.clock, to: clock) }) {
        let hash = fact.slot.hash(shard: fact.shard)
        if fact.isGone {
          guard index.keyWriter.remove(hash, fact.slot.location) else { return false }
        } else {
          guard !fact.slot.isEmpty, index.keyWriter.insert(fact.slot, hash) else { return false }
        }
      }
      for fact in facts.payloads {
        guard index.contentWriter.apply(fact) else { return false }
      }
    }
    for shard in 0..<KeyTable.shardCount {
      index.keyCount += index.keys.count(shard: shard)
      index.blobCount += index.contents.count(shard: shard)
      var isRight = true
      index.keys.forEach(shard: shard) { slot in
        isRight = isRight && names(slot.location)
        note(slot)
      }
      index.contents.forEach(shard: shard) { isRight = isRight && names(ContentTable.location(ofWord: $0)) }
      if !isRight { return false }
    }
    return true
  }

  private func fill(_ index: inout CatalogWriter, from reader: PieceReader, _ piece: Piece) -> Bool {
    guard let shards = reader.readHead(piece) else { return false }
    for shard in shards {
      if piece.shards & 1 << UInt64(shard.index) == 0 {
        guard reader.skip(shard) else { return false }
        continue
      }
      let hasKeys = index.keyWriter.fill(shard: shard.index, count: shard.keyCount) {
        guard let word0 = reader.next(), let word1 = reader.next() else { return nil }
        var slot = KeySlot(word0: word0, word1: word1).kept
        slot.stamp = RecencyClock.rebased(slot.stamp, from: piece.clock, to: clock)
        return slot
      }
      guard hasKeys else { return false }
      var wide: [(Location, Int)] = []
      let hasPayloads = index.contentWriter.fill(shard: shard.index, count: shard.payloadCount) {
        guard let fact = PieceFact.payload(shard: shard.index, ofPart: true, reader.next) else { return nil }
        if fact.userCount > 3 { wide.append((fact.location, fact.userCount)) }
        return ContentTable.word(fact.hash, fact.location, count: fact.userCount)
      }
      guard hasPayloads, wide.count == shard.wideCount else { return false }
      for (location, count) in wide { index.contentWriter.setLargeCount(count, of: location) }
    }
    return true
  }
}
