/// The blocks of the area, with the roots that name them. A block is free if neither root file names it.
///
/// Free blocks are used in turn, so a block stays as it is for long: a snapshot that reads a piece of an earlier root
/// can mostly go on. A value in memory; its owner guards it.
package struct BlockMap: Sendable {
  /// By block: bit 0 and 1 for the root files that name it, bit 2 for an attempt that is not published yet.
  private var uses: [UInt8] = []
  private var named: [[BlockRange]] = [[], []]
  private var taken: [BlockRange] = []
  private var cursor = 0
  /// The blocks that are free.
  package private(set) var freeCount = 0

  private static let attempt: UInt8 = 4

  package init(blockCount: Int = 0) { grow(to: blockCount) }

  package var blockCount: Int { uses.count }

  /// The number of blocks up to the last one that is not free.
  package var usedLength: Int { (uses.lastIndex { $0 != 0 } ?? -1) + 1 }

  /// Notes that the area has got longer.
  package mutating func grow(to blockCount: Int) {
    guard blockCount > uses.count else { return }
    freeCount += blockCount - uses.count
    uses += [UInt8](repeating: 0, count: blockCount - uses.count)
  }

  /// Notes that the area was cut. The blocks behind its new end must be free.
  package mutating func cut(to blockCount: Int) {
    precondition(blockCount >= usedLength, "a cut block is in use")
    freeCount -= uses.count - blockCount
    uses.removeSubrange(blockCount...)
    cursor = min(cursor, blockCount)
  }

  /// Takes free blocks for a piece that no root names yet; nil if there are too few. With `lowest`, takes the first
  /// ones of the area.
  package mutating func take(_ count: Int, lowest: Bool = false) -> [BlockRange]? {
    guard count <= freeCount else { return nil }
    if lowest { cursor = 0 }
    var ranges: [BlockRange] = []
    var left = count
    while left > 0 {
      if cursor >= uses.count { cursor = 0 }
      if uses[cursor] == 0 {
        uses[cursor] = BlockMap.attempt
        left -= 1
        if let last = ranges.last, last.end == cursor {
          ranges[ranges.count - 1].count += 1
        } else {
          ranges.append(BlockRange(start: cursor, count: 1))
        }
      }
      cursor += 1
    }
    freeCount -= count
    taken += ranges
    return ranges
  }

  /// Frees the blocks taken for an attempt that failed.
  package mutating func abandon() {
    for range in taken { clear(BlockMap.attempt, range) }
    taken = []
  }

  /// Notes the blocks that a root file names from now on, in place of those that it named before. `ranges` is empty for
  /// a root file that is not valid. Also ends the attempt: blocks that were taken for it and that no root names are
  /// free again.
  package mutating func name(_ ranges: [BlockRange], in root: Int) {
    let bit = UInt8(1) << UInt8(root)
    // The new names first: a block that keeps its name never counts as free.
    var kept: [BlockRange] = []
    for range in ranges where range.start >= 0 && range.end <= uses.count {
      kept.append(range)
      for block in range.start..<range.end {
        if uses[block] == 0 { freeCount -= 1 }
        uses[block] |= bit | 8
      }
    }
    for range in named[root] {
      for block in range.start..<range.end where uses[block] & 8 == 0 { clear(bit, block) }
    }
    for range in kept {
      for block in range.start..<range.end { uses[block] &= ~8 }
    }
    named[root] = kept
    abandon()
  }

  private mutating func clear(_ bit: UInt8, _ range: BlockRange) {
    for block in range.start..<range.end { clear(bit, block) }
  }

  private mutating func clear(_ bit: UInt8, _ block: Int) {
    guard uses[block] & bit != 0 else { return }
    uses[block] &= ~bit
    if uses[block] == 0 { freeCount += 1 }
  }
}
