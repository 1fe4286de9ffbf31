// Leftovers of a crash: records that no checkpoint vouches for. Each is checked on its first read. Behind the serving all of
// them are checked, so that checkpoints can vouch for them (rules 4 and 7). No lock of the store is held while a record is
// read, so no call waits for a read of this check. A segment may be compacted, evicted or retired meanwhile: nothing is
// dropped, and no mark raised, but of the segment that was read.

/// Unvouched records of an earlier opening in one segment.
struct Leftover {
  let slot: Int
  let id: UInt64
  /// They begin below this offset.
  let end: Int
  /// From this offset on the replayed log tells what records took.
  let toldFrom: Int
}

/// The leftovers of an opening that are not checked yet, and entries of replayed frames whose records' heads are lost.
struct LeftoverList {
  private(set) var unchecked: [Leftover] = []
  private var headless: [LostEntry] = []
  private(set) var hasFoundHeadless = false

  /// Those whose records the replayed log tells of.
  var told: [Leftover] { unchecked.filter { $0.toldFrom < $0.end } }

  func contains(_ segment: Segment) -> Bool { unchecked.contains { $0.slot == segment.slot } }

  mutating func add(_ leftover: Leftover) { unchecked.append(leftover) }
  mutating func remove(slot: Int) { unchecked.removeAll { $0.slot == slot } }
  mutating func removeAll() { unchecked = [] }

  /// Notes the entries that the search for lost heads has found.
  mutating func noteHeadless(_ found: [LostEntry]) {
    headless = found
    hasFoundHeadless = true
  }

  mutating func takeHeadless() -> [LostEntry] {
    defer { headless = [] }
    return headless
  }
}

/// An entry that is to be dropped, in the segment where it was found.
struct LostEntry {
  let hash: KeyHash
  let location: Location
  let segment: UInt64
}
