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

  /// Cuts the area to `blockCount` blocks, or behind the last block that a root names. Returns the bytes by which it has
  /// grown.
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

  /// Whether there are free blocks for the pieces of a draft. If not, the present root has to be published again first.
  package func hasRoom(for draft: IndexDraft) -> Bool { blocksNeeded(by: draft) <= blocks.freeCount }

  /// Writes the pieces of a draft to free blocks. Throws `noSpace` if there are too few of them, which a checkpoint
  /// rules out before it takes the draft.
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
    if let delta = try writeDelta(draft, earlier ?? ([], [])) {
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
  private mutating func absorbedFacts(_ draft: IndexDraft) -> (keys: [KeyFact], payloads: [PayloadFact])? {
    var facts: (keys: [KeyFact], payloads: [PayloadFact]) = ([], [])
    for index in draft.plan.absorbed.reversed() {
      guard let more = PieceReader(area: area, store: store, piece: list[index]).readDelta(list[index]) else {
        isDamaged = true
        return nil
      }
      facts.keys += more.keys.map { $0.rebased(from: list[index].clock, to: draft.clock) }
      facts.payloads += more.payloads
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
      let words = draft.shards.reduce(0) { shards & 1 << UInt64($1.index) != 0 ? $0 + $1.wordCount : $0 }
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
    let words = shards.reduce(Piece.headWords(bits)) { $0 + $1.wordCount }
    let piece = try place(.part, bits, words, clock: clock)
    let writer = PieceWriter(area: area, store: store, piece: piece)
    writer.append(Piece.Kind.part.rawValue)
    writer.append(bits)
    for shard in shards {
      writer.append(UInt64(shard.entries.count))
      writer.append(UInt64(shard.payloads.count) | UInt64(shard.wideCount) << 32)
    }
    for shard in shards {
      for entry in shard.entries {
        let kept = entry.kept
        writer.append(kept.word0)
        writer.append(kept.word1)
      }
      for payload in shard.payloads { PieceFact.append(payload, ofPart: true, writer.append) }
    }
    try writer.finish()
    return piece
  }

  /// Writes the changes of the shards that are not renewed, together with those of the absorbed deltas. Returns nil if
  /// there are none.
  private mutating func writeDelta(
    _ draft: IndexDraft, _ earlier: (keys: [KeyFact], payloads: [PayloadFact])
  ) throws(SystemError) -> Piece? {
    func isKept(_ shard: Int) -> Bool { draft.plan.renewed & 1 << UInt64(shard) == 0 }
    let keyFacts = KeyFact.folded((earlier.keys + draft.keyFacts).filter { isKept($0.shard) })
    let payloadFacts = PayloadFact.folded((earlier.payloads + draft.payloadFacts).filter { isKept($0.hash.shard) })
    var counts = [(keys: Int, payloads: Int, wide: Int)](repeating: (0, 0, 0), count: 64)
    for fact in keyFacts { counts[fact.shard].keys += 1 }
    for fact in payloadFacts {
      counts[fact.hash.shard].payloads += 1
      if PieceFact.isWide(ofDelta: fact.userCount) { counts[fact.hash.shard].wide += 1 }
    }
    let bits = counts.indices.reduce(UInt64(0)) { bits, shard in
      counts[shard].keys + counts[shard].payloads > 0 ? bits | 1 << UInt64(shard) : bits
    }
    if bits == 0 { return nil }
    let words = counts.reduce(Piece.headWords(bits)) { $0 + 2 * $1.keys + $1.payloads + $1.wide }
    let piece = try place(.delta, bits, words, clock: draft.clock)
    let writer = PieceWriter(area: area, store: store, piece: piece)
    writer.append(Piece.Kind.delta.rawValue)
    writer.append(bits)
    for shard in counts.indices where bits & 1 << UInt64(shard) != 0 {
      writer.append(UInt64(counts[shard].keys))
      writer.append(UInt64(counts[shard].payloads) | UInt64(counts[shard].wide) << 32)
    }
    var (key, payload) = (0, 0)
    for shard in counts.indices where bits & 1 << UInt64(shard) != 0 {
      for fact in keyFacts[key..<key + counts[shard].keys] {
        let words = PieceFact.words(fact)
        writer.append(words.0)
        writer.append(words.1)
      }
      for fact in payloadFacts[payload..<payload + counts[shard].payloads] {
        PieceFact.append(fact, ofPart: false, writer.append)
      }
      key += counts[shard].keys
      payload += counts[shard].payloads
    }
    try writer.finish()
    return piece
  }
}

/// The sizes of a shard in a piece.
struct PieceShard {
  let index: Int
  let keyCount: Int
  let payloadCount: Int
  let wideCount: Int
}

extension PieceReader {
  /// Reads the words in front of the facts; nil if they are none of this piece.
  func readHead(_ piece: Piece) -> [PieceShard]? {
    guard next() == piece.kind.rawValue, let bits = next(), bits & piece.shards == piece.shards else { return nil }
    var shards: [PieceShard] = []
    var words = Piece.headWords(bits)
    for index in 0..<64 where bits & 1 << UInt64(index) != 0 {
      guard let keys = next(), let payloads = next(), keys < 1 << 32 else { return nil }
      let shard = PieceShard(
        index: index, keyCount: Int(keys), payloadCount: Int(payloads & 0xFFFF_FFFF), wideCount: Int(payloads >> 32))
      guard shard.wideCount <= shard.payloadCount else { return nil }
      words += 2 * shard.keyCount + shard.payloadCount + shard.wideCount
      shards.append(shard)
    }
    return words == piece.wordCount ? shards : nil
  }

  /// Passes the facts of a shard. Returns false at a damaged block.
  func skip(_ shard: PieceShard) -> Bool {
    for _ in 0..<2 * shard.keyCount + shard.payloadCount + shard.wideCount where next() == nil { return false }
    return true
  }

  /// Reads the facts of a delta about some shards; nil if a block is damaged.
  func readDelta(_ piece: Piece) -> (keys: [KeyFact], payloads: [PayloadFact])? {
    guard piece.kind == .delta, let shards = readHead(piece) else { return nil }
    var facts: (keys: [KeyFact], payloads: [PayloadFact]) = ([], [])
    for shard in shards {
      if piece.shards & 1 << UInt64(shard.index) == 0 {
        guard skip(shard) else { return nil }
        continue
      }
      for _ in 0..<shard.keyCount {
        guard let word0 = next(), let word1 = next() else { return nil }
        facts.keys.append(PieceFact.key(word0, word1, shard: shard.index))
      }
      for _ in 0..<shard.payloadCount {
        guard let fact = PieceFact.payload(shard: shard.index, ofPart: false, next) else { return nil }
        facts.payloads.append(fact)
      }
    }
    return facts
  }
}
