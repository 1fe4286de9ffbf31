import Synchronization

/// When entries may expire: a heap of notes for each shard of the key table. Memory only; callers pass the time.
///
/// Invariant: each entry that may expire has a note of its hash, due no later than the entry. A note may be due
/// earlier than any entry of its hash, or outlive the entry, so the record decides. A note names no location, so a
/// record may move.
///
/// Memory: a note takes 16 bytes. A shard that has grown by a quarter to a half drops the notes of removed entries and
/// all but the earliest of each hash, so an entry takes at most about 24 bytes.
///
/// Any thread may call, unless said otherwise. A shard's lock is held for O(log notes), and for O(notes × log notes)
/// when the shard is tidied. It is taken before a lock of the key table.
package final class ExpiryIndex: Sendable {
  package struct Note: Equatable {
    /// Milliseconds since 1970; `Int64.min` for a record that is still to be read.
    package let due: Int64
    package let hash: KeyHash
  }

  /// Invariant: `notes` is a binary heap, the earliest first, of fewer than `limit` notes.
  fileprivate struct Shard {
    var notes: [Note] = []
    var limit = ExpiryIndex.leastLimit
  }

  fileprivate static let leastLimit = 64

  private let keys: KeyTable
  private let shards: [Guarded<Shard>]
  /// No note is due before this moment.
  private let earliest = Atomic<Int64>(.max)
  private let nextShard: Atomic<Int>
  private let turn: Int

  /// `turn` differs from opening to opening, so that the notes of a large store are not always taken in one order.
  package init(keys: KeyTable, turn: Int = 0) {
    self.keys = keys
    self.turn = turn
    nextShard = Atomic((turn &* 37) & (KeyTable.shardCount - 1))
    shards = (0..<KeyTable.shardCount).map { _ in Guarded(Shard()) }
  }

  package var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.notes.count } } }

  /// No note is due before this moment; `Int64.max` if there is none.
  package var nextDue: Int64 { earliest.load(ordering: .relaxed) }

  /// Returns whether a note may be due.
  package func isDue(at now: Int64) -> Bool { earliest.load(ordering: .relaxed) <= now }

  /// Notes that an entry of the hash may expire at `due`.
  package func note(_ hash: KeyHash, due: Int64) {
    shards[hash.shard].withLock { shard in
      if shard.notes.count + 1 >= shard.limit { tidy(&shard, hash.shard) }
      shard.push(Note(due: due, hash: hash.stored))
    }
    bringForward(to: due)
  }

  /// Notes every entry that may expire as due at once: all entries if `all`, else those whose record has an expiry.
  /// O(entries).
  package func noteEach(all: Bool) {
    for index in shards.indices {
      var found: [Note] = []
      keys.forEach(shard: index) { slot in
        if all || slot.flags.contains(.expires) { found.append(Note(due: .min, hash: slot.hash(shard: index))) }
      }
      if found.isEmpty { continue }
      let start = (found.count * ((turn &* 40_503) & 0xFFFF)) >> 16
      shards[index].withLock { shard in
        let isFirst = shard.notes.isEmpty
        shard.notes += found[start...] + found[..<start]
        if isFirst { shard.setLimit(index) } else { tidy(&shard, index) }
      }
      bringForward(to: .min)
    }
  }

  /// Takes at most `most` notes that are due: the earliest of a shard first, one shard after another. Calls must
  /// not overlap. O(taken × log notes).
  package func takeDue(at now: Int64, most: Int) -> [Note] {
    guard isDue(at: now) else { return [] }
    var taken: [Note] = []
    // A note that another thread makes meanwhile enters its shard first and lowers this moment after that.
    earliest.store(.max, ordering: .relaxed)
    var next = nextShard.load(ordering: .relaxed)
    for _ in shards.indices {
      shards[next].withLock { shard in
        while taken.count < most, let first = shard.notes.first, first.due <= now, let note = shard.pop() {
          taken.append(note)
        }
        if let first = shard.notes.first { bringForward(to: first.due) }
      }
      if taken.count < most { next = (next + 1) % shards.count } else { break }
    }
    nextShard.store(next, ordering: .relaxed)
    // The other shards may have notes that are due.
    if taken.count >= most { bringForward(to: now) }
    return taken
  }

  private func bringForward(to moment: Int64) {
    if moment < earliest.load(ordering: .relaxed) { earliest.min(moment, ordering: .relaxed) }
  }

  /// Keeps the earliest note of each hash that still has an entry.
  private func tidy(_ shard: inout Shard, _ index: Int) {
    var notes = shard.notes
    shard.notes = []
    notes.sort { $0.hash.bits != $1.hash.bits ? $0.hash.bits < $1.hash.bits : $0.due < $1.due }
    var kept: [Note] = []
    for note in notes where kept.last?.hash != note.hash {
      if keys.find(note.hash, counts: false, { _ in true }) != nil { kept.append(note) }
    }
    kept.sort { $0.due < $1.due }
    shard.notes = kept
    shard.setLimit(index)
  }
}

extension ExpiryIndex.Shard {
  /// Allows a quarter to a half more notes, by the number of the shard, so that shards are tidied at different times.
  fileprivate mutating func setLimit(_ index: Int) {
    let count = notes.count
    limit = max(ExpiryIndex.leastLimit, count + count / 4 + count / 4 * index / KeyTable.shardCount + 2)
    var exact: [ExpiryIndex.Note] = []
    exact.reserveCapacity(limit)
    exact += notes
    notes = exact
  }

  fileprivate mutating func push(_ note: ExpiryIndex.Note) {
    notes.append(note)
    var child = notes.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if notes[parent].due <= note.due { break }
      notes[child] = notes[parent]
      child = parent
    }
    notes[child] = note
  }

  fileprivate mutating func pop() -> ExpiryIndex.Note? {
    guard let first = notes.first, let last = notes.popLast() else { return nil }
    if notes.isEmpty { return first }
    var parent = 0
    while true {
      var child = 2 * parent + 1
      if child >= notes.count { break }
      if child + 1 < notes.count, notes[child + 1].due < notes[child].due { child += 1 }
      if notes[child].due >= last.due { break }
      notes[parent] = notes[child]
      parent = child
    }
    notes[parent] = last
    return first
  }
}
