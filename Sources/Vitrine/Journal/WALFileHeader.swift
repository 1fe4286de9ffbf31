/// The first 128 bytes of a WAL file: the use of the file, and the cut of the one before.
///
/// ```
///  0 u64 magic   8 u32 version  12 u32 flags (1: follows damage)  16 u64 store id low   24 u64 store id high
/// 32 u64 use    40 u64 seed    48 u64 opening  56 u64 first sequence
/// 64 u64 predecessor's use     72 u64 its cut (offset)   80 u64 sequence at the cut
/// 88 u64 durable sequence      96 zeros   120 u64 checksum
/// ```
package struct WALFileHeader: Sendable, Equatable {
  package static let magic: UInt64 = 0x4C41_575F_5254_4956  // "VITR_WAL"
  package static let byteCount = 128
  /// The offset of the first frame.
  package static let frameStart = 512

  package var version: UInt32 = 1
  package var store: StoreID
  /// Counts the uses of all WAL files; no number is used twice.
  package var use: UInt64
  /// Drawn at random for each use; frames of an earlier use fail their check under it.
  package var seed: UInt64
  /// The number of the opening that wrote it.
  package var opening: UInt64
  package var firstSequence: UInt64
  /// The use of the previous file, 0 if there is none.
  package var predecessor: UInt64
  package var predecessorCut: Int
  package var predecessorSequence: UInt64
  /// All frames below this number were durable when the header was written.
  package var durableSequence: UInt64
  /// The cut is a break before the durable end (rule 9). Until a checkpoint is behind this file, each opening finds
  /// that damage again.
  package var followsDamage = false

  /// Whether a rebuild of the index from the segments began a new log with this file. The frames before it were not
  /// replayed.
  package var followsRebuild: Bool { predecessorSequence == 0 }

  package init(
    store: StoreID, use: UInt64, seed: UInt64, opening: UInt64, firstSequence: UInt64, predecessor: UInt64,
    predecessorCut: Int, predecessorSequence: UInt64, durableSequence: UInt64
  ) {
    self.store = store
    self.use = use
    self.seed = seed
    self.opening = opening
    self.firstSequence = firstSequence
    self.predecessor = predecessor
    self.predecessorCut = predecessorCut
    self.predecessorSequence = predecessorSequence
    self.durableSequence = durableSequence
  }

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= WALFileHeader.byteCount, let p = bytes.baseAddress, p.u64(0) == WALFileHeader.magic,
      p.u64(120) == Checksum.of(UnsafeRawBufferPointer(start: p, count: 120), seed: WALFileHeader.magic)
    else { return nil }
    self.init(
      store: StoreID(low: p.u64(16), high: p.u64(24)), use: p.u64(32), seed: p.u64(40), opening: p.u64(48),
      firstSequence: p.u64(56), predecessor: p.u64(64), predecessorCut: Int(clamping: p.u64(72)),
      predecessorSequence: p.u64(80), durableSequence: p.u64(88))
    version = p.u32(8)
    followsDamage = p.u32(12) & 1 == 1
    guard use < UInt64(1) << 62, opening < UInt64(1) << 28, version == 1,
      max(firstSequence, predecessorSequence, durableSequence) < Sequence.limit
    else { return nil }
  }

  package func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: WALFileHeader.byteCount)
    buffer.append(WALFileHeader.magic)
    buffer.append(version)
    buffer.append(UInt32(followsDamage ? 1 : 0))
    for value in [
      store.low, store.high, use, seed, opening, firstSequence, predecessor, UInt64(predecessorCut),
      predecessorSequence, durableSequence,
    ] { buffer.append(value) }
    buffer.pad(to: 120)
    buffer.append(Checksum.of(buffer.bytes, seed: WALFileHeader.magic))
    return Array(buffer.bytes)
  }

  package static func fileName(_ index: Int) -> String { "\(index).wal" }
}

/// A position in the WAL: before the frame with `sequence`, at `offset` of the file in its `use`.
package struct WALPosition: Sendable, Equatable {
  /// An opening for writing refuses a log whose newest use has this number or a higher one, so numbers for the next
  /// uses are left.
  static let largestUse: UInt64 = 1 << 61

  package var use: UInt64
  package var offset: Int
  package var sequence: UInt64
  package init(use: UInt64, offset: Int, sequence: UInt64) {
    self.use = use
    self.offset = offset
    self.sequence = sequence
  }
}

/// Sequence numbers begin with the number of their opening.
package enum Sequence {
  /// Numbers that are read are below it, so there are numbers for the next frames.
  static let limit: UInt64 = 1 << 63
  static let counterBits: UInt64 = 36
  /// The last opening whose sequence numbers are below ``limit``.
  package static let newestOpening: UInt64 = limit >> counterBits - 1
  package static func first(ofOpening opening: UInt64) -> UInt64 { opening << counterBits | 1 }
  package static func opening(_ sequence: UInt64) -> UInt64 { sequence >> counterBits }
  /// Returns whether half of the sequence numbers of an opening are used. Then the log takes a new opening number with
  /// its next file.
  package static func isNearlySpent(_ sequence: UInt64) -> Bool { sequence >> (counterBits - 1) & 1 == 1 }
}
