// Leftovers of a crash are records for which no checkpoint vouches. Each is checked on its first read. In the
// background all of them are checked, so that checkpoints can vouch for them (rules 4 and 7). The check holds no lock
// of the store while it reads a record, so no call waits for that read. A segment may be compacted, evicted or retired
// meanwhile, and another segment may take its slot. So entries are dropped, and the mark below which a checkpoint
// vouches is raised, only in the segment that was read.

/// The records of earlier openings in one segment for which no checkpoint vouches.
struct Leftover {
  let slot: Int
  let id: UInt64
  /// Offset in the segment. The records begin below it.
  let end: Int
  /// Offset in the segment. From it on, the replayed log names each record and its length.
  let toldFrom: Int
}

/// The leftovers of an opening that are not checked yet, and entries of replayed frames whose record heads are lost.
struct LeftoverList {
  private(set) var unchecked: [Leftover] = []
  private var headless: [LostEntry] = []
  private(set) var hasFoundHeadless = false

  /// The unchecked leftovers with records that the replayed log names.
  var told: [Leftover] { unchecked.filter { $0.toldFrom < $0.end } }

  func contains(_ segment: Segment) -> Bool { unchecked.contains { $0.slot == segment.slot } }

  mutating func add(_ leftover: Leftover) { unchecked.append(leftover) }
  mutating func remove(slot: Int) { unchecked.removeAll { $0.slot == slot } }
  mutating func removeAll() { unchecked = [] }

  /// Stores the entries found by the search for lost heads.
  mutating func noteHeadless(_ found: [LostEntry]) {
    headless = found
    hasFoundHeadless = true
  }

  /// Whether entries with lost heads are in the index.
  var hasHeadless: Bool { !headless.isEmpty }

  mutating func takeHeadless() -> [LostEntry] {
    defer { headless = [] }
    return headless
  }
}

/// An entry to be dropped, and the segment where it was found.
struct LostEntry {
  let hash: KeyHash
  let location: Location
  let segment: UInt64
}
