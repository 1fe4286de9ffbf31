/// The events by which upkeep decides whether the store is quiet enough to compact, and whether a checkpoint is due.
/// Times are nanoseconds by the monotonic clock.
struct QuietWatch {
  private var bytesPut = 0
  private var lastPut: UInt64 = 0
  /// The last compaction of a quiet store.
  private var lastStep: UInt64 = 0
  /// Calls of `compact` that are under way.
  private var compactionCount = 0
  /// When the last checkpoint was published, and the number of hits until then.
  private(set) var lastCheckpoint: (nanoseconds: UInt64, hits: Int)

  init(_ now: UInt64) { lastCheckpoint = (now, 0) }

  /// Notes the bytes put so far. Returns for how long there was no put.
  mutating func note(bytesPut: Int, at now: UInt64) -> UInt64 {
    if bytesPut != self.bytesPut {
      self.bytesPut = bytesPut
      lastPut = now
    }
    return now &- lastPut
  }

  /// Begins a compaction of a quiet store. Returns false if one began less than `pause` ago, or `compact` is under way.
  mutating func beginStep(at now: UInt64, pause: UInt64) -> Bool {
    guard now &- lastStep >= pause, compactionCount == 0 else { return false }
    lastStep = now
    return true
  }

  mutating func beginCompaction() { compactionCount += 1 }
  mutating func endCompaction() { compactionCount -= 1 }
  mutating func noteCheckpoint(at now: UInt64, hits: Int) { lastCheckpoint = (now, hits) }
}
