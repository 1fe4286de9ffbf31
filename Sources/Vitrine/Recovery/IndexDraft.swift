/// The changes of an index since its last checkpoint, and the shards that are written anew: taken under the commit
/// lock, written to the area after it.
package struct IndexDraft {
  /// The entries and payloads of a shard.
  struct Shard {
    let index: Int
    let entries: [KeySlot]
    let payloads: [PayloadFact]

    var wideCount: Int { payloads.count { PieceFact.isWide(ofPart: $0.userCount) } }
    var wordCount: Int { 2 * entries.count + payloads.count + wideCount }
  }

  let plan: PiecePlan
  let shards: [Shard]
  let keyFacts: [KeyFact]
  let payloadFacts: [PayloadFact]
  /// The words of the facts.
  let factWords: Int
  /// Whether the facts are all that counts, since the tables were emptied.
  let isOfEmptiedTables: Bool
  /// The recency clock before the first shard was copied: parts have all uses until then.
  package let savedUses: UInt64
  /// The recency clock after all stamps of the draft were taken.
  let clock: UInt64
}

extension IndexDraft {
  /// The bytes of the copied shards and of the facts, in memory.
  package var byteCount: Int {
    let shards = shards.reduce(0) { $0 + $1.entries.count * 16 + $1.payloads.count * 24 }
    return shards + (keyFacts.count + payloadFacts.count) * 24
  }

  /// Takes the journal, and copies the shards that are to be written anew. O(changes + entries of these shards). Returns
  /// nil, and takes nothing, if the area lacks blocks for the draft.
  package static func take(from index: inout CatalogWriter, _ pieces: borrowing PieceSet) -> IndexDraft? {
    let words = index.shardWords()
    let changeWords = index.journalWords
    let isEmptied = index.keyWriter.journal.isOfEmptiedTable
    let state = PiecePlan.State(
      shardWords: words, pieces: isEmptied || !index.keyWriter.journal.isNoting ? [] : pieces.list,
      journalWords: changeWords, owed: pieces.owed, freeBlocks: pieces.freeBlockCount,
      blocksFreeNow: pieces.blocks.freeCount, renewsAll: pieces.isDamaged || pieces.isToBeCut,
      smallBase: pieces.smallBase)
    let plan = PiecePlan(state)
    guard plan.blockCount(state) <= state.freeBlocks else { return nil }
    index.beginJournal()
    let keyFacts = index.keyWriter.journal.take()
    let payloadFacts = index.contentWriter.journal.take()
    var shards: [IndexDraft.Shard] = []
    index.keys.clock.endBlocks()
    let savedUses = index.keys.clock.count
    for shard in 0..<KeyTable.shardCount where plan.renewed & 1 << UInt64(shard) != 0 {
      let payloads = index.contents.copy(shard: shard).map { word in
        let location = ContentTable.location(ofWord: word)
        let count = ContentTable.hasLargeCount(word) ? index.contents.largeCount(location) : Int(word >> 38 & 3)
        return PayloadFact(ContentTable.hash(ofWord: word, shard: shard), location, userCount: count)
      }
      shards.append(IndexDraft.Shard(index: shard, entries: index.keys.copy(shard: shard), payloads: payloads))
    }
    return IndexDraft(
      plan: plan, shards: shards, keyFacts: keyFacts, payloadFacts: payloadFacts, factWords: changeWords,
      isOfEmptiedTables: isEmptied, savedUses: savedUses,
      clock: index.keys.clock.count)
  }

  /// Puts the facts back, because no root has them.
  package func putBack(into index: inout CatalogWriter) {
    index.keyWriter.journal.putBack(keyFacts, isOfEmptiedTable: isOfEmptiedTables)
    index.contentWriter.journal.putBack(payloadFacts, isOfEmptiedTable: isOfEmptiedTables)
  }
}

/// How a piece has its facts as words.
enum PieceFact {
  /// In a delta, a key fact that says that the entry is gone has the bit of a flag that no piece keeps.
  private static let gone = KeySlot.Flags.checked.rawValue << 38

  static func words(_ fact: KeyFact) -> (UInt64, UInt64) {
    let kept = fact.slot.kept
    return fact.isGone ? (kept.word0 & ~(0x3FF << 38) | gone, kept.word1 & 0xFFFF_FFFF) : (kept.word0, kept.word1)
  }

  static func key(_ word0: UInt64, _ word1: UInt64, shard: Int) -> KeyFact {
    KeyFact(KeySlot(word0: word0, word1: word1).kept, shard: shard, isGone: word0 & gone != 0)
  }

  // A payload word has the location, two bits, and the tag. In a part, the bits count 1 to 3 users. In a delta, 1 stands
  // for one user more and 2 for one user less. 0 in both: the next word has the number.

  static func isWide(ofPart count: Int) -> Bool { count > 3 }
  static func isWide(ofDelta change: Int) -> Bool { change != 1 && change != -1 }

  static func append(_ fact: PayloadFact, ofPart isOfPart: Bool, _ append: (UInt64) -> Void) {
    let isWide = isOfPart ? isWide(ofPart: fact.userCount) : isWide(ofDelta: fact.userCount)
    let bits = isWide ? 0 : isOfPart ? fact.userCount : fact.userCount == 1 ? 1 : 2
    append(fact.location.bits | UInt64(bits) << 38 | fact.hash.tag << 40)
    if isWide { append(UInt64(bitPattern: Int64(fact.userCount))) }
  }

  /// Returns nil at the end of the words, and for words that no writer leaves.
  static func payload(shard: Int, ofPart isOfPart: Bool, _ next: () -> UInt64?) -> PayloadFact? {
    guard let word = next() else { return nil }
    let bits = Int(word >> 38 & 3)
    var count = bits
    if bits == 0 {
      guard let wide = next(), case let value = Int(truncatingIfNeeded: Int64(bitPattern: wide)),
        value.magnitude <= ContentTableWriter.mostUsers,
        isOfPart ? isWide(ofPart: value) : isWide(ofDelta: value) && value != 0
      else { return nil }
      count = value
    } else if !isOfPart {
      if bits == 3 { return nil }
      count = bits == 1 ? 1 : -1
    }
    return PayloadFact(
      ContentTable.hash(ofWord: word, shard: shard), ContentTable.location(ofWord: word), userCount: count)
  }
}
