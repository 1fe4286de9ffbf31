/// A change of a key table: an entry is there from now on, or it is gone.
///
/// The table has an entry once: a hash and a location are entered only while they are absent, and removed only while
/// they are there. So the facts about them alternate.
package struct KeyFact: Sendable, Equatable {
  /// Location, tags and flags of the entry, and its stamp.
  package let slot: KeySlot
  private let shardNumber: UInt8
  package let isGone: Bool
  package var shard: Int { Int(shardNumber) }

  package init(_ slot: KeySlot, shard: Int, isGone: Bool = false) {
    self.slot = slot
    shardNumber = UInt8(shard)
    self.isGone = isGone
  }

  /// Returns the fact with its stamp as of another reading of the recency clock.
  func rebased(from earlier: UInt64, to clock: UInt64) -> KeyFact {
    var slot = slot
    slot.stamp = RecencyClock.rebased(slot.stamp, from: earlier, to: clock)
    return KeyFact(slot, shard: shard, isGone: isGone)
  }

  /// Whether two facts are about the same entry.
  @inline(__always)
  private func hasEntry(of other: KeyFact) -> Bool { shard == other.shard && slot.hasEntry(of: other.slot) }

  /// The order of the table, then of locations.
  @inline(__always)
  private static func precedes(_ first: KeyFact, _ second: KeyFact) -> Bool {
    first.shard != second.shard ? first.shard < second.shard : KeySlot.precedes(first.slot, second.slot)
  }

  /// Returns the facts sorted, with the last one for each entry. An entry that came and went within them has none. One
  /// that went and came back has both facts: without the first, it would be entered twice.
  package static func folded(_ facts: [KeyFact]) -> [KeyFact] {
    // The sort is stable, so facts about one entry keep their order.
    let sorted = facts.sorted(by: precedes)
    var folded: [KeyFact] = []
    folded.reserveCapacity(sorted.count)
    var start = 0
    while start < sorted.count {
      var last = start
      while last + 1 < sorted.count, sorted[last + 1].hasEntry(of: sorted[start]) { last += 1 }
      // Before an entry comes, it is absent.
      if sorted[start].isGone { folded.append(sorted[start]) }
      if !sorted[last].isGone { folded.append(sorted[last]) }
      start = last + 1
    }
    return folded
  }

  package static func == (first: KeyFact, second: KeyFact) -> Bool {
    first.shard == second.shard && first.isGone == second.isGone && first.slot.word0 == second.slot.word0
      && first.slot.word1 == second.slot.word1
  }
}

extension KeySlot {
  /// Whether both have the same tags and the same location.
  @inline(__always)
  func hasEntry(of other: KeySlot) -> Bool {
    urlTag == other.urlTag && styleTag == other.styleTag && location == other.location
  }

  /// The order of the table, then of style and location.
  @inline(__always)
  package static func precedes(_ first: KeySlot, _ second: KeySlot) -> Bool {
    if first.urlTag != second.urlTag { return first.urlTag < second.urlTag }
    if first.styleTag != second.styleTag { return first.styleTag < second.styleTag }
    return first.location.bits < second.location.bits
  }
}

/// A change of a content table: a payload has so many more or fewer users. A payload with no users is not there.
package struct PayloadFact: Sendable, Equatable {
  package let hash: ContentHash
  package let location: Location
  package let userCount: Int

  package init(_ hash: ContentHash, _ location: Location, userCount: Int) {
    self.hash = ContentHash(bits: UInt64(hash.shard) << 58 | hash.tag << 34)
    self.location = location
    self.userCount = userCount
  }

  @inline(__always)
  private static func precedes(_ first: PayloadFact, _ second: PayloadFact) -> Bool {
    first.hash.bits != second.hash.bits
      ? first.hash.bits < second.hash.bits : first.location.bits < second.location.bits
  }

  /// Returns the facts sorted, with their sum for each payload. A sum of zero is left out.
  package static func folded(_ facts: [PayloadFact]) -> [PayloadFact] {
    let sorted = facts.sorted(by: precedes)
    var folded: [PayloadFact] = []
    folded.reserveCapacity(sorted.count)
    var start = 0
    while start < sorted.count {
      var (end, sum) = (start, 0)
      while end < sorted.count, sorted[end].hash == sorted[start].hash, sorted[end].location == sorted[start].location {
        sum += sorted[end].userCount
        end += 1
      }
      if sum != 0 { folded.append(PayloadFact(sorted[start].hash, sorted[start].location, userCount: sum)) }
      start = end
    }
    return folded
  }
}

/// A change of a table, as a delta has it.
package protocol Fact: Sendable {
  /// The words of 64 bits that it takes in a delta.
  var wordCount: Int { get }
}

extension KeyFact: Fact {
  package var wordCount: Int { 2 }
}

extension PayloadFact: Fact {
  /// More or fewer than one user takes a second word.
  package var wordCount: Int { userCount.magnitude == 1 ? 1 : 2 }
}

/// The facts that a table's writer has noted since they were last taken.
package struct FactJournal<Element: Fact>: Sendable {
  /// Whether changes are noted. An index without pieces on the disk notes none.
  package var isNoting = false
  package private(set) var facts: [Element] = []
  /// The words of the facts in a delta. Folded, they may take fewer.
  package private(set) var wordCount = 0
  /// Whether the table was emptied: no fact and no piece from before counts.
  package private(set) var isOfEmptiedTable = false

  @inline(__always)
  mutating func note(_ fact: @autoclosure () -> Element) {
    guard isNoting else { return }
    let fact = fact()
    facts.append(fact)
    wordCount += fact.wordCount
  }

  /// Returns the facts, and begins anew.
  package mutating func take() -> [Element] {
    let taken = facts
    facts = []
    wordCount = 0
    isOfEmptiedTable = false
    return taken
  }

  /// Puts facts back that were taken and not written. They come before those noted since.
  package mutating func putBack(_ taken: [Element], isOfEmptiedTable wasEmptied: Bool) {
    if isOfEmptiedTable { return }
    facts = taken + facts
    wordCount = facts.reduce(0) { $0 + $1.wordCount }
    isOfEmptiedTable = wasEmptied
  }

  /// Forgets all facts, since the table is empty.
  mutating func forget() {
    facts = []
    wordCount = 0
    isOfEmptiedTable = true
  }
}
