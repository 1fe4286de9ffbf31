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

  /// By shard, then in the order of ``KeySlot/precedes(_:_:)``.
  @inline(__always)
  private static func precedes(_ first: KeyFact, _ second: KeyFact) -> Bool {
    first.shard != second.shard ? first.shard < second.shard : KeySlot.precedes(first.slot, second.slot)
  }

  /// Returns the facts sorted, with the last fact of each entry. An entry that these facts enter and then remove has no
  /// fact. An entry that they remove and then enter again keeps both facts. Without the removal, the entry would be in
  /// the table twice.
  package static func folded(_ facts: [KeyFact]) -> [KeyFact] {
    // The sort is stable, so facts about one entry keep their order.
    let sorted = facts.sorted(by: precedes)
    var folded: [KeyFact] = []
    folded.reserveCapacity(sorted.count)
    var start = 0
    while start < sorted.count {
      var last = start
      while last + 1 < sorted.count, sorted[last + 1].hasEntry(of: sorted[start]) { last += 1 }
      // If the first fact enters the entry, the entry was absent before, so there is nothing to remove.
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

/// A change of a table, encoded as words in a delta.
package protocol Fact: Sendable {
  var shard: Int { get }
  /// Appends the words of the fact, as a delta stores them.
  func encode(_ append: (UInt64) -> Void)
  /// Returns nil at the end of the words, and for words that no writer leaves.
  init?(shard: Int, _ next: () -> UInt64?)
}

extension KeyFact: Fact {
  /// Marks a removed entry. Uses the bit of ``KeySlot/Flags/checked``, a flag that is not stored.
  private static let gone = KeySlot.Flags.checked.rawValue << 38

  @inline(__always)
  package func encode(_ append: (UInt64) -> Void) {
    let kept = slot.kept
    append(isGone ? kept.word0 & ~(0x3FF << 38) | KeyFact.gone : kept.word0)
    append(isGone ? kept.word1 & 0xFFFF_FFFF : kept.word1)
  }

  @inline(__always)
  package init?(shard: Int, _ next: () -> UInt64?) {
    guard let word0 = next(), let word1 = next() else { return nil }
    self.init(
      KeySlot(word0: word0, word1: word1).kept, shard: shard, isGone: word0 & KeyFact.gone != 0)
  }
}

extension PayloadFact: Fact {
  package var shard: Int { hash.shard }

  // The word has the location, two bits, and the tag. Bits of 1 mean one more user, and bits of 2 mean one user less.
  // If the bits are 0, the next word has the change.

  @inline(__always)
  package func encode(_ append: (UInt64) -> Void) {
    assert(userCount != 0, "a change of no users")
    let bits: UInt64 = userCount == 1 ? 1 : userCount == -1 ? 2 : 0
    append(location.bits | bits << 38 | hash.tag << 40)
    if bits == 0 { append(UInt64(bitPattern: Int64(userCount))) }
  }

  @inline(__always)
  package init?(shard: Int, _ next: () -> UInt64?) {
    guard let word = next(), case let bits = word >> 38 & 3, bits != 3 else { return nil }
    var count = bits == 1 ? 1 : -1
    if bits == 0 {
      guard let wide = next(), case let value = Int(truncatingIfNeeded: Int64(bitPattern: wide)),
        (2...ContentTableWriter.mostUsers).contains(Int(clamping: value.magnitude))
      else { return nil }
      count = value
    }
    self.init(ContentTable.hash(ofWord: word, shard: shard), ContentTable.location(ofWord: word), userCount: count)
  }

  /// Whether it takes a second word.
  package var isWide: Bool { userCount.magnitude != 1 }
}

/// The facts of a table as words, by shard: the smallest form. A copy shares the words.
package struct FactWords<Element: Fact>: Sendable {
  private let shards = (0..<KeyTable.shardCount).map { _ in WordList() }
  package private(set) var wordCount = 0

  package init() {}

  package subscript(shard: Int) -> WordList { shards[shard] }

  @inline(__always)
  package mutating func append(_ fact: Element) {
    let words = shards[fact.shard]
    let before = words.count
    fact.encode(words.append)
    wordCount += words.count - before
  }

  package mutating func append(_ more: FactWords) {
    for (words, more) in zip(shards, more.shards) { words.append(more) }
    wordCount += more.wordCount
  }

  /// Returns the facts of a shard, in the order in which they were appended.
  package func facts(shard: Int) -> [Element] {
    var facts: [Element] = []
    facts.reserveCapacity(shards[shard].count)
    var words = shards[shard].makeIterator()
    while let fact = Element(shard: shard, { words.next() }) { facts.append(fact) }
    assert(words.next() == nil, "each fact that is appended can be read")
    return facts
  }
}

/// The facts that a table's writer has noted since they were last taken.
package struct FactJournal<Element: Fact>: Sendable {
  /// Whether changes are noted. An index without pieces on the disk notes none.
  package var isNoting = false
  private var words = FactWords<Element>()
  /// Whether the table was emptied: no fact and no piece from before counts.
  package private(set) var isOfEmptiedTable = false

  /// The number of words of the noted facts. After folding, they may take fewer.
  package var wordCount: Int { words.wordCount }

  @inline(__always)
  mutating func note(_ fact: @autoclosure () -> Element) {
    if isNoting { words.append(fact()) }
  }

  /// Returns the facts, and begins anew.
  package mutating func take() -> FactWords<Element> {
    let taken = words
    words = FactWords()
    isOfEmptiedTable = false
    return taken
  }

  /// Puts facts back that were taken and not written. They come before those noted since.
  package mutating func putBack(_ taken: FactWords<Element>, isOfEmptiedTable wasEmptied: Bool) {
    if isOfEmptiedTable { return }
    let later = words
    words = taken
    words.append(later)
    isOfEmptiedTable = wasEmptied
  }

  /// Forgets all facts, since the table is empty.
  mutating func forget() {
    words = FactWords()
    isOfEmptiedTable = true
  }
}
