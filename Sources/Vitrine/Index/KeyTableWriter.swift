/// Adds, moves and removes the entries of a key table. A table has one writer, which makes it and cannot be copied.
///
/// One thread at a time uses the writer of a table that serves: ``CatalogWriter`` holds it, behind the commit lock.
package struct KeyTableWriter: ~Copyable {
  package let table = KeyTable()
  /// The changes for the next delta.
  package internal(set) var journal = FactJournal<KeyFact>()

  package init() {}

  /// Decides which lookups note a use, before the table serves. `stampsHits`: whether a counted lookup of an entry
  /// without an expiry is a use. `countsUses`: whether uses are counted too. `givesBlocks`: see
  /// ``RecencyClock/givesBlocks``.
  package func configure(stampsHits: Bool, countsUses: Bool, givesBlocks: Bool) {
    table.configure(stampsHits: stampsHits, countsUses: countsUses)
    table.clock.givesBlocks = givesBlocks
  }

  /// Enters a key that the table does not have. Returns false when memory is short.
  package mutating func insert(_ slot: KeySlot, _ hash: KeyHash) -> Bool {
    guard table.withShard(hash.shard, { shard in KeyTableWriter.insert(slot, shard) }) else { return false }
    journal.note(KeyFact(slot, shard: hash.shard))
    return true
  }

  @inline(__always)
  private static func insert(_ slot: KeySlot, _ shard: borrowing KeyTable.Held) -> Bool {
    let insertion = shard.pointee.run.insert(slot, most: CrowdedURLs.mostInRun)
    if case .noMemory = insertion { return false }
    if case .crowded = insertion {
      let crowds = shard.pointee.crowds ?? CrowdedURLs()
      shard.pointee.crowds = crowds
      guard crowds.insert(slot) else { return false }
    }
    noteChange(slot, shard)
    return true
  }

  @inline(__always)
  private static func noteChange(_ slot: KeySlot, _ shard: borrowing KeyTable.Held) {
    guard shard.pointee.crowds != nil, !slot.flags.contains(.independent) else { return }
    shard.pointee.changes += 1
    shard.pointee.crowds?.noteChange(slot.hash(shard: 0), shard.pointee.changes)
  }

  /// Grows the table for `count` more entries at once, instead of step by step. If memory is short, each insertion
  /// tries again.
  package func reserve(_ count: Int) {
    for index in 0..<KeyTable.shardCount {
      table.withShard(index) { $0.pointee.run.reserve(count / KeyTable.shardCount * 33 / 32) }
    }
  }

  /// Fills an empty shard with `count` entries; fastest if they come in the table's order. Returns false when
  /// `next` returns nil early, or memory is short.
  package func fill(shard index: Int, count: Int, _ next: () -> KeySlot?) -> Bool {
    fill(shard: index, room: count) { filler, shard in
      for _ in 0..<count {
        guard let slot = next(), filler.append(slot, shard) else { return false }
      }
      return true
    }
  }

  /// Fills an empty shard, with room for `room` entries from the start. `body` runs under the shard's lock. Returns
  /// false if `body` does, or if memory is short. The journal notes nothing.
  @inline(__always)
  func fill(
    shard index: Int, room: Int, _ body: (inout Filler, borrowing KeyTable.Held) -> Bool
  ) -> Bool {
    table.withShard(index) { shard in
      if shard.pointee.count > 0 { return false }
      if room > 0, !shard.pointee.run.grow(to: room * 105 / 100) { return false }
      var filler = Filler()
      return body(&filler, shard)
    }
  }

  /// Fills one shard.
  struct Filler {
    private var cursor = SlotArray.Cursor()

    fileprivate init() {}

    /// Enters a key that the table does not have. Fastest in the table's order. Returns false for an empty slot, and
    /// when memory is short.
    @inline(__always)
    mutating func append(_ slot: KeySlot, _ shard: borrowing KeyTable.Held) -> Bool {
      if slot.isEmpty { return false }
      if shard.pointee.run.append(slot, most: CrowdedURLs.mostInRun, &cursor) { return true }
      return insert(slot, shard)
    }

    /// As ``append(_:_:)``, in any order.
    @inline(never)
    mutating func insert(_ slot: KeySlot, _ shard: borrowing KeyTable.Held) -> Bool {
      if slot.isEmpty { return false }
      cursor = SlotArray.Cursor()
      return KeyTableWriter.insert(slot, shard)
    }

    /// Removes an entry. Returns false if it is absent.
    mutating func remove(_ hash: KeyHash, _ location: Location, _ shard: borrowing KeyTable.Held) -> Bool {
      cursor = SlotArray.Cursor()
      return KeyTableWriter.remove(hash, location, shard)
    }
  }

  /// Replaces the entry at `location`. Returns false if the table does not have it.
  package mutating func replace(_ hash: KeyHash, _ location: Location, with new: KeySlot) -> Bool {
    let slot = table.withShard(hash.shard) { shard -> KeySlot? in
      guard let found = table.slot(of: hash, location, shard) else { return nil }
      let uses = found.pointee.uses
      found.pointee = new
      if table.countsUses { found.pointee.uses = uses + 1 }
      KeyTableWriter.noteChange(new, shard)
      return found.pointee
    }
    guard let slot else { return false }
    noteGone(hash, location)
    journal.note(KeyFact(slot, shard: hash.shard))
    return true
  }

  private mutating func noteGone(_ hash: KeyHash, _ location: Location) {
    journal.note(KeyFact(KeySlot(hash, location, []), shard: hash.shard, isGone: true))
  }

  /// Points the entry at `location` to a copy of its record; its last use stays. Returns false if the table does
  /// not have it.
  package mutating func move(_ hash: KeyHash, from location: Location, to copy: Location) -> Bool {
    let slot = table.withShard(hash.shard) { shard -> KeySlot? in
      guard let found = table.slot(of: hash, location, shard) else { return nil }
      found.pointee.word0 = found.pointee.word0 & ~Location.mask | copy.bits
      KeyTableWriter.noteChange(found.pointee, shard)
      return found.pointee
    }
    guard let slot else { return false }
    noteGone(hash, location)
    journal.note(KeyFact(slot, shard: hash.shard))
    return true
  }

  /// Removes an entry. Returns false if it is absent.
  package mutating func remove(_ hash: KeyHash, _ location: Location) -> Bool {
    let isRemoved = table.withShard(hash.shard) { shard in KeyTableWriter.remove(hash, location, shard) }
    if isRemoved { noteGone(hash, location) }
    return isRemoved
  }

  private static func remove(
    _ hash: KeyHash, _ location: Location, _ shard: borrowing KeyTable.Held
  ) -> Bool {
    if let place = shard.pointee.run.position(from: hash.urlTag, hash, where: { $0.location == location }) {
      shard.pointee.run.remove(at: place)
      return true
    }
    guard let crowds = shard.pointee.crowds, crowds.remove(hash, where: { $0.location == location }) else {
      return false
    }
    if crowds.isEmpty { shard.pointee.crowds = nil }
    return true
  }

  /// Gives every entry another location and flags, at its place in the table. Only for a table without readers.
  package func relocate(_ body: (_ slot: KeySlot, _ hash: KeyHash) -> (location: Location, flags: KeySlot.Flags)) {
    for index in 0..<KeyTable.shardCount {
      table.withShard(index) { shard in
        table.forEachSlot(shard) { slot in
          let hash = slot.pointee.hash(shard: index)
          let (location, flags) = body(slot.pointee, hash)
          slot.pointee.word0 = KeySlot(hash, location, flags).word0
        }
      }
    }
  }

  /// Exchanges the entries with those of a table without readers, one shard after another: a lookup finds the key's
  /// old or its new entry. The counts of lookups stay.
  package func exchange(with other: borrowing KeyTableWriter) {
    let its = other.table
    for index in 0..<KeyTable.shardCount {
      // In the order of `relocate(_:)`, which looks at this table under the lock of the other one.
      its.withShard(index) { its in
        table.withShard(index) { mine in
          swap(&mine.pointee.run, &its.pointee.run)
          swap(&mine.pointee.crowds, &its.pointee.crowds)
          mine.pointee.changes += its.pointee.changes
        }
      }
    }
    table.clock.set(its.clock.count)
  }

  /// Removes all entries, and releases their memory. Forgets the journal: no earlier fact counts.
  package mutating func removeAll() {
    journal.forget()
    for index in 0..<KeyTable.shardCount {
      table.withShard(index) { shard in
        shard.pointee.run.free()
        shard.pointee.crowds = nil
      }
    }
  }
}
