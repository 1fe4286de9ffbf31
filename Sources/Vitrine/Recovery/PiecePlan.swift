/// The work of a checkpoint on the pieces of the index: the shards whose entries it writes anew as parts, and the
/// newest deltas that it writes together with the changes since the last checkpoint.
///
/// All sizes are words. The *base* is the index as it is now. Deltas together have at most five eighths of the base.
/// While they have more than an eighth, parts of twice the size of the changes are also written anew, oldest
/// first. So all parts are replaced before further changes amount to half of the base. A delta is left out when all of
/// its shards have been written anew.
package struct PiecePlan: Equatable {
  /// The shards that are written anew. Their changes are in the parts, and no earlier piece counts for them.
  package private(set) var renewed: UInt64 = 0
  /// The renewed shards by new part.
  package private(set) var parts: [UInt64] = []
  /// Places of deltas among the pieces, newest first: their changes go into the new delta.
  package private(set) var absorbed: [Int] = []
  /// Words of parts that later checkpoints have to write anew.
  package private(set) var owed: Int

  /// The index and its pieces at a checkpoint.
  package struct State {
    /// The words of each shard as it is now.
    package var shardWords: [Int]
    /// In the order in which they were written.
    package var pieces: [Piece]
    /// The words of the changes since the last checkpoint.
    package var journalWords: Int
    /// See ``PiecePlan/owed``.
    package var owed: Int
    /// The blocks that are free, or become free when the older root is erased.
    package var freeBlocks: Int
    /// The blocks that are free before the older root is erased.
    package var blocksFreeNow: Int
    /// Whether all shards are to be written anew if there is room now: a block could not be read, or the area is to be
    /// cut.
    package var renewsAll: Bool
    /// See ``PiecePlan/smallBase``.
    package var smallBase: Int

    package init(
      shardWords: [Int], pieces: [Piece], journalWords: Int, owed: Int, freeBlocks: Int, blocksFreeNow: Int,
      renewsAll: Bool = false, smallBase: Int = PiecePlan.smallBase
    ) {
      self.shardWords = shardWords
      self.pieces = pieces
      self.journalWords = journalWords
      self.owed = owed
      self.freeBlocks = freeBlocks
      self.blocksFreeNow = blocksFreeNow
      self.renewsAll = renewsAll
      self.smallBase = smallBase
    }

    var baseWords: Int { shardWords.reduce(0, +) }
  }

  static let allShards = UInt64.max
  /// A base of at most this many words is always written whole, unless a test asks for less.
  package static let smallBase = 32 * Piece.wordsPerBlock
  private static let renewalPerChange = 2
  /// The most deltas. Each may end with an almost empty block, so a small base has fewer.
  private static func mostDeltas(base: Int) -> Int { min(40, max(8, base / (8 * Piece.wordsPerBlock))) }

  /// The most words of all deltas.
  package static func deltaLimit(base: Int) -> Int { base / 8 * 5 }

  package init(_ state: State) {
    owed = state.owed
    let base = state.baseWords
    let deltas = state.pieces.indices.filter { state.pieces[$0].kind == .delta }
    let deltaWords = deltas.reduce(state.journalWords) { $0 + state.pieces[$1].wordCount }
    let covered = state.pieces.reduce(0) { $1.kind == .part ? $0 | $1.shards : $0 }
    if base <= state.smallBase || covered != PiecePlan.allShards {
      renewAll(state)
      return
    }
    if state.journalWords >= base / 2 || state.renewsAll {
      renewAll(state)
      if blockCount(state) <= (state.renewsAll ? state.blocksFreeNow : state.freeBlocks) { return }
      // A delta may take less.
      (renewed, parts, owed) = (0, [], state.owed)
    }
    if deltaWords > base / 8 { owed += PiecePlan.renewalPerChange * state.journalWords }
    if deltaWords > PiecePlan.deltaLimit(base: base) - base / 16 || deltas.count >= PiecePlan.mostDeltas(base: base) {
      owed = base
    }
    absorbed = PiecePlan.absorbed(state, deltas, base: base)
    var room = state.freeBlocks - PiecePlan.deltaBlocks(state, absorbed)
    if room < 0, !absorbed.isEmpty {
      absorbed = []
      room = state.freeBlocks - PiecePlan.deltaBlocks(state, absorbed)
    }
    if room < 0 {
      renewAll(state)
      return
    }
    for piece in state.pieces where piece.kind == .part {
      // An old part keeps all of its blocks until each of its shards is renewed. So the plan leaves at most one old
      // part half renewed.
      if !renew(piece, state, base: base, room: &room) { break }
    }
    if renewed == PiecePlan.allShards { renewAll(state) }
  }

  /// The most blocks that its pieces take.
  package func blockCount(_ state: State) -> Int {
    var blocks = 0
    for part in parts {
      let words = (0..<64).reduce(0) { part & 1 << UInt64($1) != 0 ? $0 + state.shardWords[$1] : $0 }
      blocks += Piece.blockCount(words: Piece.headWords(part) + words)
    }
    return renewed == PiecePlan.allShards ? blocks : blocks + PiecePlan.deltaBlocks(state, absorbed)
  }

  /// The most blocks that the next delta takes.
  private static func deltaBlocks(_ state: State, _ absorbed: [Int]) -> Int {
    let words = absorbed.reduce(state.journalWords) { $0 + state.pieces[$1].wordCount }
    return Piece.blockCount(words: Piece.headWords(allShards) + words)
  }

  /// Renews shards of an old part, in new parts of a fair size, as far as words are owed and blocks are free. Returns
  /// whether all of its shards are renewed.
  private mutating func renew(_ piece: Piece, _ state: State, base: Int, room: inout Int) -> Bool {
    let least = PiecePlan.partWords(base: base, smallBase: state.smallBase)
    var left = piece.shards
    while left != 0 {
      var (part, words) = (UInt64(0), 0)
      while left != 0, words < least {
        let shard = left.trailingZeroBitCount
        left &= left - 1
        part |= 1 << UInt64(shard)
        words += state.shardWords[shard]
      }
      let blocks = Piece.blockCount(words: Piece.headWords(part) + words) + 1
      guard owed >= min(words, base), owed > 0, blocks <= room else { return false }
      owed -= words
      room -= blocks
      renewed |= part
      parts.append(part)
    }
    return true
  }

  private mutating func renewAll(_ state: State) {
    renewed = PiecePlan.allShards
    parts = PiecePlan.parts(of: renewed, state)
    absorbed = []
    owed = 0
  }

  /// Absorbs deltas that are no larger than the changes collected so far, newest first. So each change is written
  /// again at most once for each doubling of its delta. Few deltas stay.
  private static func absorbed(_ state: State, _ deltas: [Int], base: Int) -> [Int] {
    var absorbed: [Int] = []
    var words = max(state.journalWords, Piece.wordsPerBlock)
    for index in deltas.reversed() {
      let size = state.pieces[index].wordCount
      guard size <= words, words + size <= max(base / 32, min(base / 8, 8 * Piece.wordsPerBlock)) else { break }
      words += size
      absorbed.append(index)
    }
    return absorbed
  }

  /// The least words of a part, unless it has all shards.
  static func partWords(base: Int, smallBase: Int) -> Int { max(smallBase / 4, base / 48) }

  /// Divides shards into parts.
  private static func parts(of shards: UInt64, _ state: State) -> [UInt64] {
    let least = partWords(base: state.baseWords, smallBase: state.smallBase)
    var parts: [UInt64] = []
    var (part, words) = (UInt64(0), 0)
    for shard in 0..<64 where shards & 1 << UInt64(shard) != 0 {
      part |= 1 << UInt64(shard)
      words += state.shardWords[shard]
      if words >= least {
        parts.append(part)
        (part, words) = (0, 0)
      }
    }
    if part != 0 { parts.append(part) }
    return parts
  }

  // MARK: Room

  /// Returns the blocks that an area needs for a base of `base` words and a journal of at most `journal` words. With
  /// them, a checkpoint has room for its pieces once the older root is erased.
  ///
  /// The result for a larger base is never smaller.
  package static func blockCount(base: Int, journal: Int, smallBase: Int = PiecePlan.smallBase) -> Int {
    // A base of at most `2 * journal` words may be renewed at once, so it may need more blocks than a larger base.
    max(
      blocks(base: base, journal: journal, smallBase),
      blocks(base: min(base, 2 * journal), journal: journal, smallBase))
  }

  private static func blocks(base: Int, journal: Int, _ smallBase: Int) -> Int {
    let words = base + Piece.headWords(allShards)
    let blocks = Piece.blockCount(words: words)
    // The old base, the one that is written, and another that only the older root names.
    if base <= smallBase { return max(12, 3 * (blocks + 1)) }
    // The last block of each part may be almost empty.
    let parts = blocks + 2 * (base / partWords(base: base, smallBase: smallBase) + 2)
    let deltas = Piece.blockCount(words: deltaLimit(base: base)) + 2 * (mostDeltas(base: base) + 1)
    // A part being written, and one of which a shard is left.
    let largest = 2 * (Piece.blockCount(words: 2 * partWords(base: base, smallBase: smallBase)) + 2)
    // The new delta, and the parts that are renewed with it.
    let next =
      journal < base / 2 ? Piece.blockCount(words: (1 + renewalPerChange) * journal) + 2 + renewalPerChange : parts
    return parts + deltas + next + largest
  }
}
