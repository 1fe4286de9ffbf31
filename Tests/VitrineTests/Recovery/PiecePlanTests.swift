import Testing

@testable import Vitrine

/// The choice of shards and deltas that a checkpoint writes.
@Suite struct PiecePlanTests {
  @Test func aLargerBaseNeverNeedsFewerBlocks() {
    for journal in [0, 100, 5000, 70_000, 3_000_000] {
      var before = 0
      for base in stride(from: 0, to: 8_000_000, by: 1017) {
        let blocks = PiecePlan.blockCount(base: base, journal: journal)
        #expect(blocks >= before, "\(base) \(journal)")
        before = blocks
      }
    }
  }

  /// An index of which only the sizes are known.
  private struct Model {
    var words: [Int]
    var pieces: [Piece] = []
    var owed = 0
    var blocks = 0
    var nextNumber: UInt64 = 1
    let journalLimit: Int
    var written = 0
    var most = (deltaWords: 0.0, pieces: 0)

    var base: Int { words.reduce(0, +) }

    mutating func makeRoom() { blocks = max(blocks, PiecePlan.blockCount(base: base, journal: journalLimit)) }

    mutating func add(_ kind: Piece.Kind, _ shards: UInt64, _ words: Int) {
      pieces.append(Piece(number: nextNumber, kind: kind, shards: shards, wordCount: words, clock: 0, ranges: []))
      nextNumber += 1
      written += Piece.blockCount(words: words) * Piece.wordsPerBlock
    }

    mutating func checkpoint(journal: Int) -> Bool {
      let free = blocks - pieces.reduce(0) { $0 + $1.blockCount }
      let state = PiecePlan.State(
        shardWords: words, pieces: pieces, journalWords: journal, owed: owed, freeBlocks: free, blocksFreeNow: free)
      let plan = PiecePlan(state)
      guard plan.blockCount(state) <= free else { return false }
      let delta = plan.absorbed.reduce(journal) { $0 + pieces[$1].wordCount }
      pieces = pieces.enumerated().compactMap { index, piece in
        var kept = piece
        kept.shards &= ~plan.renewed
        return kept.shards == 0 || plan.absorbed.contains(index) ? nil : kept
      }
      if plan.renewed != .max { add(.delta, ~plan.renewed, Piece.headWords(~plan.renewed) + delta) }
      for part in plan.parts {
        let size = (0..<64).reduce(Piece.headWords(part)) { part & 1 << UInt64($1) != 0 ? $0 + words[$1] : $0 }
        add(.part, part, size)
      }
      owed = plan.owed
      let deltas = pieces.reduce(0) { $1.kind == .delta ? $0 + $1.wordCount : $0 }
      if base > 0 { most.deltaWords = max(most.deltaWords, Double(deltas) / Double(base)) }
      most.pieces = max(most.pieces, pieces.count)
      return true
    }
  }

  /// The room that is asked for before each change suffices for each checkpoint, with journals of any size.
  @Test(arguments: RandomRuns.seeds([1, 2, 3, 4]), [30_000, 300_000, 3_000_000, 300_000_000])
  func aCheckpointAlwaysHasRoom(_ seed: UInt64, _ base: Int) {
    var random = SeededRandom(seed: seed)
    let journalLimit = [base / 200, base / 40, base / 4, base * 2][Int(seed) % 4]
    var model = Model(words: [Int](repeating: 0, count: 64), journalLimit: journalLimit)
    var changed = 0
    // Grows, is overwritten, shrinks and grows again.
    for (phase, target) in [base, base, base / 5, base].enumerated() {
      for _ in 0..<150 {
        let journal = random.chance(30) ? 1 + random.below(max(1, journalLimit / 50)) : 1 + random.below(journalLimit)
        // A put adds at most its facts to the base, a removal takes at most as much.
        let step = min(abs(target - model.base), journal / 2) / 64
        for shard in 0..<64 {
          model.words[shard] = max(0, model.words[shard] + (target > model.base ? step : -step))
        }
        model.makeRoom()
        changed += journal
        guard model.checkpoint(journal: journal) else {
          Issue.record("no room in phase \(phase) for \(journal) of \(model.base)")
          return
        }
        #expect(model.pieces.count <= CheckpointHeader.mostPieces)
      }
    }
  }
}
