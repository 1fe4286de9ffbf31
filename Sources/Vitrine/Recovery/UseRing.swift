/// The file of uses: blocks (``UseBlock``), written in turn and never synced. A use that is still the last one of its
/// key is written again when its block is overwritten. Guarded by its owner.
package struct UseRing {
  private let file: any File
  private let store: StoreID
  package private(set) var blockCount: Int
  /// The place of the block that is being filled.
  private var place: Int
  private var number: UInt64
  /// The uses in that block, with exact stamps.
  private var uses: [KeyUse] = []
  /// Whether the place of that block may still hold uses of an earlier opening.
  private var isFirst: Bool

  /// The least blocks of a file. With one block, each use would have to be written again at once.
  package static let leastBlocks = 2

  /// Begins behind the newest of the blocks that an opening has found.
  package init(_ file: any File, store: StoreID, blockCount: Int, found: FoundUses?) {
    self.file = file
    self.store = store
    self.blockCount = blockCount
    let newest = found?.newest
    place = newest.map { ($0.place + 1) % blockCount } ?? 0
    number = newest.map { $0.number + 1 } ?? 0
    isFirst = newest != nil
  }

  /// Returns the largest number of blocks of a file for `keys` keys: twice the blocks that one use of each key takes.
  package static func mostBlocks(keys: Int) -> Int { max(leastBlocks, 2 * (keys / UseBlock.mostUses + 1)) }

  /// The moment at which uses are collected.
  package struct Moment {
    /// The recency clock.
    let clock: UInt64
    /// The sequence number of the next frame.
    let sequence: UInt64
    /// Milliseconds since 1970.
    let time: Int64
  }

  /// Writes uses, which are sorted by their stamps. `last` returns the last use of a key as it is now; nil if the key
  /// is gone, or if a piece has its stamp. `grow` gets the wanted number of blocks and returns the number that the file
  /// has from then on. Returns the number of bytes written: at most two blocks, plus two for each block of new uses.
  /// If the file is too small, the oldest uses are lost.
  package mutating func append(
    _ new: [KeyUse], at moment: Moment, last: (KeyHash) -> KeyUse?, grow: (Int) -> Int
  ) throws(SystemError) -> Int {
    // These uses are obsolete: their keys were used again or are gone, or a piece has their stamps.
    uses.removeAll { last($0.hash)?.stamp != $0.stamp }
    var queue = new
    if isFirst { queue += choosePlace(last: last, grow: grow) }
    isFirst = false
    var (next, written) = (0, 0)
    while next < queue.count {
      if uses.count == UseBlock.mostUses {
        written += try write(moment, isFull: true)
        uses = []
        number += 1
        place = (place + 1) % blockCount
        queue += choosePlace(last: last, grow: grow)
      }
      uses.append(queue[next])
      next += 1
    }
    return try written + write(moment, isFull: false)
  }

  private mutating func write(_ moment: Moment, isFull: Bool) throws(SystemError) -> Int {
    uses.sort { $0.stamp < $1.stamp }
    let block = UseBlock(
      number: number, clock: isFull ? uses.last?.stamp ?? moment.clock : moment.clock, sequence: moment.sequence,
      time: moment.time, uses: uses)
    try file.write(block.encoded(store: store), at: place * UseBlock.byteCount)
    return UseBlock.byteCount
  }

  /// Moves to the next place if at most half of its block has to be written again. Otherwise grows the file and moves
  /// to a new block, or skips blocks if the file cannot grow. Returns the uses that have to be written again. If no
  /// block may be overwritten, the uses in the block at the present place are lost.
  private mutating func choosePlace(last: (KeyHash) -> KeyUse?, grow: (Int) -> Int) -> [KeyUse] {
    for step in 0..<blockCount {
      let candidate = (place + step) % blockCount
      let kept = keptUses(at: candidate, last: last)
      if kept.count <= UseBlock.mostUses / 2 {
        place = candidate
        return kept.sorted { $0.stamp < $1.stamp }
      }
      if step == 0, case let grown = grow(2 * blockCount), grown > blockCount {
        place = blockCount
        blockCount = grown
        return []
      }
    }
    return []
  }

  /// The uses in a block that are still the last ones of their keys.
  private func keptUses(at place: Int, last: (KeyHash) -> KeyUse?) -> [KeyUse] {
    guard let block = FoundUses.block(file, place, store) else { return [] }
    var kept: [KeyHash: KeyUse] = [:]
    for use in block.uses {
      // A later use has a later stamp than the clock of this block, and is in another block.
      if let last = last(use.hash), last.stamp <= block.clock { kept[use.hash] = last }
    }
    return Array(kept.values)
  }
}

/// The file of uses as an opening finds it. Any block may be lost or damaged: then the order of the entries is less
/// exact.
package struct FoundUses {
  package let file: any File
  private let store: StoreID
  private let blockCount: Int
  /// The heads of the blocks, in the order of their clocks.
  private var heads: [UseBlock] = []
  /// Place and number of the block that was written last.
  package private(set) var newest: (place: Int, number: UInt64)?

  /// Reads the heads of all blocks. O(file).
  package init(_ file: any File, byteCount: Int, store: StoreID) {
    self.file = file
    self.store = store
    blockCount = byteCount / UseBlock.byteCount
    forEachBlock(readsUses: false) { place, block in
      if block.number >= newest?.number ?? 0 { newest = (place, block.number) }
      heads.append(block)
    }
    heads.sort { $0.clock < $1.clock }
  }

  /// The bytes that may be written without an allocation.
  static func usableByteCount(_ file: any File, in folder: any Directory) -> Int {
    guard let status = try? file.status() else { return 0 }
    let byteCount = folder.promisesAllocation ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
    return byteCount / UseBlock.byteCount * UseBlock.byteCount
  }

  /// The bytes by which the file counts against the budget.
  static func charge(of file: any File) -> Int { (try? file.status().chargedByteCount(atMost: .max >> 1)) ?? 0 }

  fileprivate static func block(
    _ file: any File, _ place: Int, _ store: StoreID, readsUses: Bool = true
  ) -> UseBlock? {
    let start = place * UseBlock.byteCount
    guard let bytes = try? file.read(start..<start + UseBlock.byteCount) else { return nil }
    return bytes.withUnsafeBytes { UseBlock($0, store: store, readsUses: readsUses) }
  }

  /// The most blocks that one call reads.
  private static let blocksAtOnce = 64

  /// The uses that are noted together, so that the lock of a shard is taken once for many of them.
  private static let usesAtOnce = 1 << 15
  /// The most uses of a shard whose memory is kept for the next ones. A file may have uses of one shard alone.
  private static let mostKept = 4 * usesAtOnce / KeyTable.shardCount

  /// Calls `body` with the valid blocks. A place that cannot be read has none.
  private func forEachBlock(readsUses: Bool, _ body: (_ place: Int, _ block: UseBlock) -> Void) {
    let buffer = ByteBuffer(capacity: min(blockCount, FoundUses.blocksAtOnce) * UseBlock.byteCount)
    for first in stride(from: 0, to: blockCount, by: FoundUses.blocksAtOnce) {
      let count = min(FoundUses.blocksAtOnce, blockCount - first)
      let range = first * UseBlock.byteCount..<(first + count) * UseBlock.byteCount
      let isRead = (try? file.read(into: buffer, count: range.count, at: range.lowerBound)) != nil
      for place in first..<first + count {
        let block: UseBlock?
        if isRead {
          let start = (place - first) * UseBlock.byteCount
          let end = min(start + UseBlock.byteCount, buffer.count)
          let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[min(start, end)..<end])
          block = UseBlock(bytes, store: store, readsUses: readsUses)
        } else {
          block = FoundUses.block(file, place, store, readsUses: readsUses)
        }
        if let block { body(place, block) }
      }
    }
  }

  /// The reading of the recency clock with which loading begins: that of the checkpoint, or if many uses came after it,
  /// the last reading in the file.
  func clock(after checkpoint: UInt64) -> UInt64 {
    guard let last = heads.last?.clock, last > checkpoint, last - checkpoint >= 1 << 30 else { return checkpoint }
    return last
  }

  /// Readings of the clock in the order of the frames: before the frame with a sequence number, the clock has at least
  /// that reading.
  var readings: [(sequence: UInt64, clock: UInt64)] {
    heads.map { ($0.sequence, $0.clock) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
  }

  /// Notes the uses in the table, and the times of uses after the clock's reading `checkpoint`.
  func note(in keys: KeyTable, times: SharedUseTimes?, after checkpoint: UInt64) {
    guard let last = heads.last else { return }
    let clock = keys.clock
    if last.clock > clock.count { clock.set(last.clock) }
    for head in heads where head.clock > checkpoint {
      times?.withLock { $0.note(stamp: UInt32(truncatingIfNeeded: head.clock), time: head.time) }
    }
    var uses = [[KeyUse]](repeating: [], count: KeyTable.shardCount)
    var count = 0
    func noteAll() {
      for shard in uses.indices {
        keys.note(uses[shard], shard: shard)
        uses[shard].removeAll(keepingCapacity: uses[shard].count <= FoundUses.mostKept)
      }
      count = 0
    }
    forEachBlock(readsUses: true) { _, block in
      guard block.clock <= last.clock else { return }
      for use in block.uses { uses[use.hash.shard].append(use) }
      count += block.uses.count
      if count >= FoundUses.usesAtOnce { noteAll() }
    }
    noteAll()
  }
}
