/// The events by which upkeep decides whether the store is quiet enough to compact, and whether a checkpoint is due.
/// Times are nanoseconds by the monotonic clock.
struct QuietWatch {
  private var bytesPut = 0
  private var lastPut: UInt64 = 0
  /// When a compaction of a quiet store last began.
  private var lastStep: UInt64 = 0
  /// Calls of `compact` that are under way.
  private var compactionCount = 0
  /// When the last checkpoint was published.
  private var lastCheckpoint: UInt64
  /// When uses were last saved, in a checkpoint or in the file of uses, and the number of hits until then.
  private(set) var lastUses: (nanoseconds: UInt64, hits: Int)
  /// Whether uses of readers were counted since uses were last saved.
  private(set) var hasTakenUses = false
  /// Nanoseconds between the last two checkpoints, and bytes of frames written between them.
  private(set) var checkpointInterval: UInt64 = .max
  private(set) var frameByteCount = 0
  private var lastFrameByteCount = 0
  /// The time when a put last needed spares, and the bytes put until then.
  private var lastSpares: (nanoseconds: UInt64, bytesPut: Int)?

  init(_ now: UInt64) {
    lastCheckpoint = now
    lastUses = (now, 0)
  }

  /// Notes the bytes put so far. Returns for how long there was no put.
  mutating func note(bytesPut: Int, at now: UInt64) -> UInt64 {
    if bytesPut != self.bytesPut {
      self.bytesPut = bytesPut
      lastPut = now
    }
    return now &- lastPut
  }

  /// Nanoseconds until the last put is `nanoseconds` ago; 0 if it is already.
  func timeUntilQuiet(for nanoseconds: UInt64, at now: UInt64) -> UInt64 {
    let passed = now &- lastPut
    return passed >= nanoseconds ? 0 : nanoseconds - passed
  }

  /// Whether there was no put for `nanoseconds`, as of the last ``note(bytesPut:at:)``.
  func isQuiet(for nanoseconds: UInt64, at now: UInt64) -> Bool { now &- lastPut >= nanoseconds }

  /// Begins a compaction of a quiet store. Returns false if one began less than `pause` ago, or `compact` is under way.
  mutating func beginStep(at now: UInt64, pause: UInt64) -> Bool {
    guard now &- lastStep >= pause, compactionCount == 0 else { return false }
    lastStep = now
    return true
  }

  mutating func beginCompaction() { compactionCount += 1 }
  mutating func endCompaction() { compactionCount -= 1 }

  /// `frameByteCount` counts since the opening.
  mutating func noteCheckpoint(at now: UInt64, frameByteCount: Int) {
    checkpointInterval = now &- lastCheckpoint
    self.frameByteCount = frameByteCount - lastFrameByteCount
    lastFrameByteCount = frameByteCount
    lastCheckpoint = now
  }

  /// Notes that the uses of the first `hits` hits, and of readers, are saved.
  mutating func noteUses(at now: UInt64, hits: Int) {
    lastUses = (now, hits)
    hasTakenUses = false
  }

  /// Notes that uses could not be saved. The next attempt comes as late as after a success.
  mutating func putOffUses(at now: UInt64) { lastUses.nanoseconds = now }

  /// Notes that uses of readers were counted.
  mutating func noteTakenUses() { hasTakenUses = true }

  /// Notes that a put needs spares. Returns the nanoseconds and the bytes put since the last time.
  mutating func noteSpares(at now: UInt64, bytesPut: Int) -> (nanoseconds: UInt64, bytesPut: Int) {
    defer { lastSpares = (now, bytesPut) }
    return lastSpares.map { (now &- $0.nanoseconds, bytesPut - $0.bytesPut) } ?? (.max, 0)
  }
}
