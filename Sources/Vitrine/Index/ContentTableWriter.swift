/// Adds, moves, counts and removes the payloads of a content table. A table has one writer, which makes it and cannot
/// be copied.
///
/// One thread at a time uses the writer of a table that serves: ``CatalogWriter`` holds it, behind the commit lock.
package struct ContentTableWriter: ~Copyable {
  package let table = ContentTable()
  /// The changes for the next delta.
  package internal(set) var journal = FactJournal<PayloadFact>()

  package init() {}

  /// Enters a blob that `count` keys use. If the table has it already, counts them too. Returns false when memory is
  /// short.
  package mutating func insert(_ hash: ContentHash, _ location: Location, count: Int = 1) -> Bool {
    let isInserted = table.withShard(hash.shard) { shard in
      table.change(hash, location, by: count, shard) != nil || table.insert(hash, location, count: count, shard)
    }
    if isInserted { journal.note(PayloadFact(hash, location, userCount: count)) }
    return isInserted
  }

  /// Counts one more key that uses the blob. Returns false if the table does not have it.
  package mutating func retain(_ hash: ContentHash, _ location: Location) -> Bool {
    change(hash, location, by: 1) != nil
  }

  /// The most users of a payload that a piece may claim.
  package static let mostUsers = 1 << 40

  /// Counts one key less, and removes the blob with its last key. Returns the number of keys left, nil if the table
  /// does not have the blob.
  package mutating func release(_ hash: ContentHash, _ location: Location) -> Int? {
    change(hash, location, by: -1)
  }

  /// Points a blob to a copy of its payload; its count of keys stays. Returns false if the table does not have the
  /// blob.
  package mutating func move(_ hash: ContentHash, from location: Location, to copy: Location) -> Bool {
    let count = table.withShard(hash.shard) { shard -> Int? in
      guard let place = table.placeOf(hash, location, shard) else { return nil }
      let word = shard.pointee.slots[place]
      shard.pointee.slots[place] = word & ~Location.mask | copy.bits
      guard ContentTable.hasLargeCount(word) else { return Int(word >> 38 & 3) }
      return table.large.withLock { large in
        let count = large.removeValue(forKey: location) ?? 4
        large[copy] = count
        return count
      }
    }
    guard let count else { return false }
    journal.note(PayloadFact(hash, location, userCount: -count))
    journal.note(PayloadFact(hash, copy, userCount: count))
    return true
  }

  private mutating func change(_ hash: ContentHash, _ location: Location, by difference: Int) -> Int? {
    let left = table.withShard(hash.shard) { shard in table.change(hash, location, by: difference, shard) }
    if left != nil { journal.note(PayloadFact(hash, location, userCount: difference)) }
    return left
  }

  /// Removes an entry with any count.
  package mutating func removeEntirely(_ hash: ContentHash, _ location: Location) {
    let count = table.withShard(hash.shard) { shard -> Int? in
      guard let place = table.placeOf(hash, location, shard) else { return nil }
      let small = Int(shard.pointee.slots[place] >> 38 & 3)
      ContentTable.remove(place, shard)
      let large = table.large.withLock { $0.removeValue(forKey: location) }
      return small > 0 ? small : large ?? 4
    }
    if let count { journal.note(PayloadFact(hash, location, userCount: -count)) }
  }

  /// As ``KeyTableWriter/reserve(_:)``.
  package func reserve(_ count: Int) {
    for index in 0..<ContentTable.shardCount {
      table.withShard(index) { shard in
        let wanted = shard.pointee.count + count / ContentTable.shardCount * 33 / 32
        if wanted > shard.pointee.capacity * 85 / 100 { _ = ContentTable.grow(shard, to: wanted) }
      }
    }
  }

  /// Fills an empty shard with `count` words, as ``KeyTableWriter/fill(shard:count:_:)`` does.
  /// ``setLargeCount(_:of:)`` follows.
  package func fill(shard index: Int, count: Int, _ next: () -> UInt64?) -> Bool {
    fill(shard: index, room: count) { filler, shard in
      for _ in 0..<count {
        guard let word = next(), filler.append(word, shard) else { return false }
      }
      return true
    }
  }

  /// As ``KeyTableWriter/fill(shard:room:_:)``.
  @inline(__always)
  func fill(
    shard index: Int, room: Int, _ body: (inout Filler, borrowing ContentTable.Held) -> Bool
  ) -> Bool {
    table.withShard(index) { shard in
      if shard.pointee.count > 0 { return false }
      if room > 0, !ContentTable.grow(shard, to: room * 105 / 100) { return false }
      var filler = Filler(table)
      guard body(&filler, shard) else { return false }
      filler.end()
      return true
    }
  }

  /// Fills one shard.
  struct Filler {
    private let table: ContentTable
    /// All places from `home` up to `next` are taken.
    private var (home, next) = (0, 0)
    /// Counts of 4 and more, by the word without its count. The table keeps them by location alone, and a payload of an
    /// older piece may have had the location of one in another shard.
    private var large: [UInt64: Int] = [:]

    fileprivate init(_ table: ContentTable) { self.table = table }

    /// Enters the word of a payload that the table does not have. Fastest in the table's order. Returns false for an
    /// empty word, and when memory is short. ``setLargeCount(_:ofWord:)`` follows if the word has no count.
    @inline(__always)
    mutating func append(_ word: UInt64, _ shard: borrowing ContentTable.Held) -> Bool {
      let (count, capacity) = (shard.pointee.count, shard.pointee.capacity)
      if word == 0 { return false }
      if count + 1 > capacity * 85 / 100 { return grow(for: word, shard) }
      let slots = shard.pointee.slots
      let home = ContentTable.home(ContentTable.tag(word), capacity)
      var place = home
      if home >= self.home {
        self.home = home
        place = max(home, next)
      }
      while place < capacity, slots[place] != 0 { place += 1 }
      if place == capacity {
        // The run goes on at the first place.
        ContentTable.fill(word, slots, capacity)
      } else {
        slots[place] = word
        next = max(next, place + 1)
      }
      shard.pointee.count = count + 1
      return true
    }

    @inline(never)
    private mutating func grow(for word: UInt64, _ shard: borrowing ContentTable.Held) -> Bool {
      (home, next) = (0, 0)
      return ContentTable.grow(shard, to: shard.pointee.count + 1) && append(word, shard)
    }

    /// Makes the change of a fact. Returns false if memory is short, or if the number of users would be negative or
    /// exceed ``ContentTableWriter/mostUsers``.
    mutating func apply(_ fact: PayloadFact, _ shard: borrowing ContentTable.Held) -> Bool {
      (home, next) = (0, 0)
      guard let place = table.placeOf(fact.hash, fact.location, shard) else {
        guard (1...ContentTableWriter.mostUsers).contains(fact.userCount) else { return false }
        note(fact.userCount, fact)
        return append(ContentTable.word(fact.hash, fact.location, count: fact.userCount), shard)
      }
      let word = shard.pointee.slots[place]
      let before = ContentTable.hasLargeCount(word) ? large[word & ~(3 << 38)] ?? 4 : Int(word >> 38 & 3)
      guard fact.userCount <= ContentTableWriter.mostUsers,
        (0...ContentTableWriter.mostUsers).contains(before + fact.userCount)
      else { return false }
      let count = before + fact.userCount
      note(count, fact)
      if count == 0 {
        ContentTable.remove(place, shard)
      } else {
        shard.pointee.slots[place] = ContentTable.word(fact.hash, fact.location, count: count)
      }
      return true
    }

    private mutating func note(_ count: Int, _ fact: PayloadFact) {
      let word = ContentTable.word(fact.hash, fact.location, count: 0)
      if count > 3 { large[word] = count } else if !large.isEmpty { large[word] = nil }
    }

    mutating func setLargeCount(_ count: Int, ofWord word: UInt64) { large[word & ~(3 << 38)] = count }

    /// Gives the large counts to the table.
    fileprivate func end() {
      if large.isEmpty { return }
      table.large.withLock { counts in
        for (word, count) in large { counts[ContentTable.location(ofWord: word)] = count }
      }
    }
  }

  /// Sets the number of keys of a blob whose word says 4 or more.
  package func setLargeCount(_ count: Int, of location: Location) { table.large.withLock { $0[location] = count } }

  /// Gives every blob another location, at its place in the table. Only for a table without readers.
  package func relocate(_ body: (Location) -> Location) {
    for index in 0..<ContentTable.shardCount {
      table.withShard(index) { shard in
        for place in 0..<shard.pointee.capacity where shard.pointee.slots[place] != 0 {
          let word = shard.pointee.slots[place]
          shard.pointee.slots[place] = word & ~Location.mask | body(ContentTable.location(ofWord: word)).bits
        }
      }
    }
    table.large.withLock { $0 = Dictionary($0.map { (body($0.key), $0.value) }, uniquingKeysWith: max) }
  }

  /// Exchanges the entries with those of a table without readers, one shard after another.
  package func exchange(with other: borrowing ContentTableWriter) {
    let its = other.table
    for index in 0..<ContentTable.shardCount {
      its.withShard(index) { its in
        table.withShard(index) { mine in
          swap(&mine.pointee.slots, &its.pointee.slots)
          swap(&mine.pointee.memory, &its.pointee.memory)
          swap(&mine.pointee.capacity, &its.pointee.capacity)
          swap(&mine.pointee.count, &its.pointee.count)
        }
      }
    }
    let theirs = its.largeCounts
    table.large.withLock { mine in
      its.large.withLock { $0 = mine }
      mine = theirs
    }
  }

  /// Removes all entries, and releases their memory. Forgets the journal: no earlier fact counts.
  package mutating func removeAll() {
    journal.forget()
    for index in 0..<ContentTable.shardCount {
      table.withShard(index) { shard in
        shard.pointee.memory?.free()
        shard.pointee.memory = nil
        shard.pointee.capacity = 0
        shard.pointee.count = 0
      }
    }
    table.large.withLock { $0.removeAll() }
  }
}
