/// The changes of an index since its last checkpoint, and the shards that are written anew. They are taken under the
/// commit lock, and written to the area later.
package struct IndexDraft {
  /// The entries and payloads of a shard.
  struct Shard {
    let index: Int
    private(set) var keyCount = 0
    private(set) var payloadCount = 0
    private(set) var wideCount = 0
    /// The words of the shard, in the order in which an index part stores them.
    let words: WordList

    init(_ index: Int, of catalog: borrowing CatalogWriter) {
      self.index = index
      words = WordList(capacity: 2 * catalog.keys.count(shard: index) + catalog.contents.count(shard: index))
      catalog.keys.forEach(shard: index) { slot in
        words.append(slot.kept.word0)
        words.append(slot.word1)
      }
      keyCount = words.count / 2
      catalog.contents.forEach(shard: index) { word in
        payloadCount += 1
        words.append(word)
        guard ContentTable.hasLargeCount(word) else { return }
        words.append(UInt64(catalog.contents.largeCount(ContentTable.location(ofWord: word))))
        wideCount += 1
      }
    }
  }

  let plan: PiecePlan
  let shards: [Shard]
  let keyFacts: FactWords<KeyFact>
  let payloadFacts: FactWords<PayloadFact>
  /// Whether the tables were emptied since the last draft. Then no earlier fact and no earlier piece counts.
  let isOfEmptiedTables: Bool
  /// The recency clock before the first shard was copied: parts have all uses until then.
  package let savedUses: UInt64
  /// The recency clock after all stamps of the draft were taken.
  let clock: UInt64
}

extension IndexDraft {
  /// The words of the facts.
  var factWords: Int { keyFacts.wordCount + payloadFacts.wordCount }

  /// Takes the journal, and copies the shards that are to be written anew. O(changes + entries of these shards).
  /// Returns nil, and takes nothing, if the area lacks blocks for the draft.
  package static func take(from index: inout CatalogWriter, _ pieces: borrowing PieceSet) -> IndexDraft? {
    let words = index.shardWords()
    let isEmptied = index.keyWriter.journal.isOfEmptiedTable
    let state = PiecePlan.State(
      shardWords: words, pieces: isEmptied || !index.keyWriter.journal.isNoting ? [] : pieces.list,
      journalWords: index.journalWords, owed: pieces.owed, freeBlocks: pieces.freeBlockCount,
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
      shards.append(IndexDraft.Shard(shard, of: index))
    }
    return IndexDraft(
      plan: plan, shards: shards, keyFacts: keyFacts, payloadFacts: payloadFacts,
      isOfEmptiedTables: isEmptied, savedUses: savedUses,
      clock: index.keys.clock.count)
  }

  /// Puts the facts back, because no root has them.
  package func putBack(into index: inout CatalogWriter) {
    index.keyWriter.journal.putBack(keyFacts, isOfEmptiedTable: isOfEmptiedTables)
    index.contentWriter.journal.putBack(payloadFacts, isOfEmptiedTable: isOfEmptiedTables)
  }
}
