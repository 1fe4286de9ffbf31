/// The pieces of a store's index and the area that holds them. Guarded by its owner.
package struct PieceSet {
  package let store: StoreID
  package let area: any File
  /// The pieces that the newest root names, in the order in which they were written.
  package private(set) var list: [Piece] = []
  private(set) var blocks: BlockMap
  /// See ``PiecePlan/owed``.
  package private(set) var owed = 0
  /// Whether a block could not be read. The next checkpoint renews all shards.
  package private(set) var isDamaged = false
  private var nextNumber: UInt64
  /// Whether the next checkpoint moves all pieces to the first free blocks, so that the area can be cut.
  package var isToBeCut = false

  /// See ``PiecePlan/smallBase``.
  let smallBase: Int

  /// `opening` is the number of this opening, which no other has.
  package init(
    store: StoreID, area: any File, blockCount: Int, opening: UInt64, smallBase: Int = PiecePlan.smallBase
  ) {
    self.smallBase = smallBase
    self.store = store
    self.area = area
    blocks = BlockMap(blockCount: blockCount)
    nextNumber = opening << 32
  }

  package var blockCount: Int { blocks.blockCount }

  /// The blocks that the newest root does not name.
  package var freeBlockCount: Int { blocks.blockCount - list.reduce(0) { $0 + $1.blockCount } }

  /// The words of all deltas.
  package var deltaWords: Int { list.reduce(0) { $1.kind == .delta ? $0 + $1.wordCount : $0 } }

  package mutating func grow(to blockCount: Int) { blocks.grow(to: blockCount) }

  /// Allocates more blocks and syncs the area. Returns the bytes by which it has grown.
  package mutating func allocate(blockCount: Int) throws(SystemError) -> Int {
    let before = try area.status().chargedByteCount(atMost: self.blockCount * Piece.blockByteCount)
    do throws(SystemError) {
      try area.allocate(byteCount: blockCount * Piece.blockByteCount)
    } catch {
      // An allocation that failed may have lengthened the file.
      try? area.truncate(to: self.blockCount * Piece.blockByteCount)
      throw error
    }
    try area.sync()
    blocks.grow(to: blockCount)
    return try area.status().chargedByteCount(atMost: blockCount * Piece.blockByteCount) - before
  }

  /// Cuts the area to `blockCount` blocks, but not before the end of the last block that a root names. Returns the
  /// change of its bytes.
  package mutating func cut(to blockCount: Int) throws(SystemError) -> Int {
    let end = max(blockCount, blocks.usedLength)
    if end >= self.blockCount { return 0 }
    let before = chargedByteCount
    try area.truncate(to: end * Piece.blockByteCount)
    blocks.cut(to: end)
    return chargedByteCount - before
  }

  /// The bytes of the disk that the area takes.
  package var chargedByteCount: Int {
    (try? area.status().chargedByteCount(atMost: blockCount * Piece.blockByteCount)) ?? 0
  }

  /// Notes the pieces of a root file, as an opening finds them. `isNewest` is true for the root that it has loaded.
  package mutating func note(_ pieces: [Piece], owed: Int, root: Int, isNewest: Bool) {
    blocks.name(pieces.flatMap(\.ranges), in: root)
    if isNewest { (list, self.owed) = (pieces, owed) }
  }

  /// A list of pieces whose new ones are written and not synced yet.
  package struct Attempt {
    package let pieces: [Piece]
    package let owed: Int
    /// Whether the pieces have the stamps of all entries.
    package let renewsAll: Bool
    /// The bytes written.
    package let byteCount: Int
  }

  /// Whether there are free blocks for the pieces of a draft. If not, the older root must be erased first.
  package func hasRoom(for draft: IndexDraft) -> Bool { blocksNeeded(by: draft) <= blocks.freeCount }

  /// Writes the pieces of a draft to free blocks. Throws `noSpace` if there are too few free blocks. A checkpoint first
  /// checks ``hasRoom(for:)``.
  package mutating func write(_ draft: IndexDraft) throws(SystemError) -> Attempt {
    blocks.abandon()
    var pieces: [Piece] = []
    let earlier = absorbedFacts(draft)
    for (index, piece) in list.enumerated() where earlier == nil || !draft.plan.absorbed.contains(index) {
      var kept = piece
      kept.shards &= ~draft.plan.renewed
      if kept.shards != 0 { pieces.append(kept) }
    }
    var byteCount = 0
    if let delta = try writeDelta(draft, earlier ?? DeltaFacts()) {
      pieces.append(delta)
      byteCount += delta.blockCount * Piece.blockByteCount
    }
    for shards in draft.plan.parts {
      let part = try writePart(
        draft.shards.filter { shards & 1 << UInt64($0.index) != 0 }, shards, clock: draft.savedUses)
      pieces.append(part)
      byteCount += part.blockCount * Piece.blockByteCount
    }
    return Attempt(
      pieces: pieces, owed: draft.plan.owed, renewsAll: draft.plan.renewed == PiecePlan.allShards,
      byteCount: byteCount)
  }

  /// Frees the blocks of an attempt that no root names.
  package mutating func abandon() { blocks.abandon() }

  /// Reads the facts of the absorbed deltas. Returns nil if a block cannot be read: then these deltas stay.
  private mutating func absorbedFacts(_ draft: IndexDraft) -> DeltaFacts? {
    var facts = DeltaFacts()
    for index in draft.plan.absorbed.reversed() {
      let reader = PieceReader(area: area, store: store, piece: list[index])
      guard facts.append(list[index], reader, clock: draft.clock) else {
        isDamaged = true
        return nil
      }
    }
    return facts
  }

  /// Notes that a root file with these pieces is durable.
  package mutating func publish(_ attempt: Attempt, root: Int) {
    list = attempt.pieces
    owed = attempt.owed
    if attempt.renewsAll { isDamaged = false }
    blocks.name(list.flatMap(\.ranges), in: root)
  }

  /// Notes that a root file does not count any more.
  package mutating func forget(root: Int) { blocks.name([], in: root) }

  // MARK: Writing

  private func blocksNeeded(by draft: IndexDraft) -> Int {
    var needed = 0
    for shards in draft.plan.parts {
      let words = draft.shards.reduce(0) { shards & 1 << UInt64($1.index) != 0 ? $0 + $1.words.count : $0 }
      needed += Piece.blockCount(words: Piece.headWords(shards) + words)
    }
    let absorbed = draft.plan.absorbed.reduce(0) { $0 + list[$1].wordCount }
    let words = draft.factWords + absorbed
    if draft.plan.renewed != PiecePlan.allShards, words > 0 {
      needed += Piece.blockCount(words: Piece.headWords(PiecePlan.allShards) + words)
    }
    return needed
  }

  private mutating func place(
    _ kind: Piece.Kind, _ shards: UInt64, _ words: Int, clock: UInt64
  ) throws(SystemError) -> Piece {
    guard let ranges = blocks.take(Piece.blockCount(words: words), lowest: isToBeCut) else {
      throw SystemError(code: SystemError.noSpace, operation: "write the index", path: area.path)
    }
    nextNumber += 1
    return Piece(number: nextNumber, kind: kind, shards: shards, wordCount: words, clock: clock, ranges: ranges)
  }

  private mutating func writePart(
    _ shards: [IndexDraft.Shard], _ bits: UInt64, clock: UInt64
  ) throws(SystemError) -> Piece {
    let words = shards.reduce(Piece.headWords(bits)) { $0 + $1.words.count }
    let piece = try place(.part, bits, words, clock: clock)
    let writer = try PieceWriter(area: area, store: store, piece: piece)
    writer.append(Piece.Kind.part.rawValue)
    writer.append(bits)
    for shard in shards {
      writer.append(UInt64(shard.keyCount))
      writer.append(UInt64(shard.payloadCount) | UInt64(shard.wideCount) << 32)
    }
    for shard in shards { shard.words.forEach(writer.append) }
    try writer.finish()
    return piece
  }

  /// Writes the changes of the shards that are not renewed, together with those of the absorbed deltas. Returns nil if
  /// there are none.
  private mutating func writeDelta(_ draft: IndexDraft, _ earlier: DeltaFacts) throws(SystemError) -> Piece? {
    let facts = earlier.folded(with: draft)
    let bits = (0..<KeyTable.shardCount).reduce(UInt64(0)) { bits, shard in
      facts.keys[shard].count + facts.payloads[shard].count == 0 ? bits : bits | 1 << UInt64(shard)
    }
    if bits == 0 { return nil }
    let words = Piece.headWords(bits) + facts.keys.wordCount + facts.payloads.wordCount
    let piece = try place(.delta, bits, words, clock: draft.clock)
    let writer = try PieceWriter(area: area, store: store, piece: piece)
    writer.append(Piece.Kind.delta.rawValue)
    writer.append(bits)
    for shard in 0..<KeyTable.shardCount where bits & 1 << UInt64(shard) != 0 {
      writer.append(UInt64(facts.keys[shard].count / 2))
      let wide = facts.wideCounts[shard]
      writer.append(UInt64(facts.payloads[shard].count - wide) | UInt64(wide) << 32)
    }
    for shard in 0..<KeyTable.shardCount {
      facts.keys[shard].forEach(writer.append)
      facts.payloads[shard].forEach(writer.append)
    }
    try writer.finish()
    return piece
  }
}

/// The facts of deltas, by shard.
struct DeltaFacts {
  private(set) var keys = FactWords<KeyFact>()
  private(set) var payloads = FactWords<PayloadFact>()
  /// For each shard, the number of payload facts of two words. Only ``folded(with:)`` counts them.
  private(set) var wideCounts = [Int](repeating: 0, count: KeyTable.shardCount)

  /// Appends the facts of a delta that count, with stamps as of `clock`. Returns false if a block is damaged.
  mutating func append(_ piece: Piece, _ reader: PieceReader, clock: UInt64) -> Bool {
    guard piece.kind == .delta, let shards = reader.readHead(piece) else { return false }
    for shard in shards {
      if piece.shards & 1 << UInt64(shard.index) == 0 {
        guard reader.skip(shard.wordCount) else { return false }
        continue
      }
      let isWhole = reader.readFacts(
        shard,
        key: {
          keys.append($0.rebased(from: piece.clock, to: clock))
          return true
        },
        payload: {
          payloads.append($0)
          return true
        })
      guard isWhole else { return false }
    }
    return true
  }

  /// Returns the facts together with later ones, folded, of the shards that the draft does not renew.
  func folded(with draft: IndexDraft) -> DeltaFacts {
    var folded = DeltaFacts()
    for shard in 0..<KeyTable.shardCount where draft.plan.renewed & 1 << UInt64(shard) == 0 {
      for fact in KeyFact.folded(keys.facts(shard: shard) + draft.keyFacts.facts(shard: shard)) {
        folded.keys.append(fact)
      }
      for fact in PayloadFact.folded(payloads.facts(shard: shard) + draft.payloadFacts.facts(shard: shard)) {
        folded.payloads.append(fact)
        if fact.isWide { folded.wideCounts[shard] += 1 }
      }
    }
    return folded
  }
}

/// The sizes of a shard in a piece.
struct PieceShard {
  let index: Int
  let keyCount: Int
  let payloadCount: Int
  let wideCount: Int

  var wordCount: Int { 2 * keyCount + payloadCount + wideCount }
}

extension PieceReader {
  /// Reads the words in front of the facts. Returns nil if they do not fit this piece.
  func readHead(_ piece: Piece) -> [PieceShard]? {
    guard next() == piece.kind.rawValue, let bits = next(), bits & piece.shards == piece.shards else { return nil }
    var shards: [PieceShard] = []
    var words = Piece.headWords(bits)
    for index in 0..<64 where bits & 1 << UInt64(index) != 0 {
      guard let keys = next(), let payloads = next(), keys < 1 << 32 else { return nil }
      let shard = PieceShard(
        index: index, keyCount: Int(keys), payloadCount: Int(payloads & 0xFFFF_FFFF), wideCount: Int(payloads >> 32))
      guard shard.wideCount <= shard.payloadCount else { return nil }
      words += shard.wordCount
      shards.append(shard)
    }
    return words == piece.wordCount ? shards : nil
  }

  /// Passes the facts of a shard of a delta in order. Returns false if a block is damaged, or as soon as a closure
  /// does.
  @inline(__always)
  func readFacts(_ shard: PieceShard, key: (KeyFact) -> Bool, payload: (PayloadFact) -> Bool) -> Bool {
    for _ in 0..<shard.keyCount {
      guard let fact = KeyFact(shard: shard.index, next), key(fact) else { return false }
    }
    var wideCount = 0
    for _ in 0..<shard.payloadCount {
      guard let fact = PayloadFact(shard: shard.index, next), payload(fact) else { return false }
      if fact.isWide { wideCount += 1 }
    }
    return wideCount == shard.wideCount
  }
}
