/// Adds, moves, counts and removes the payloads of a content table. A table has one writer, which makes it and cannot be
/// copied.
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
    if change(hash, location, by: count) != nil { return true }
    let isInserted = table.withShard(hash.shard) { shard in
      let wanted = shard.pointee.count + 1
      if wanted > shard.pointee.capacity * 85 / 100, !grow(shard, to: wanted) { return false }
      if count > 3 { table.large.withLock { $0[location] = count } }
      fill(ContentTable.word(hash, location, count: count), shard.pointee.slots, shard.pointee.capacity)
      shard.pointee.count += 1
      return true
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

  /// Makes the change of a fact. Returns false if memory is short, or if the payload would have fewer users than none or
  /// more than ``mostUsers``.
  package mutating func apply(_ fact: PayloadFact) -> Bool {
    guard fact.userCount <= ContentTableWriter.mostUsers,
      table.count(fact.hash, fact.location) <= ContentTableWriter.mostUsers - max(0, fact.userCount)
    else { return false }
    if fact.userCount > 0 { return insert(fact.hash, fact.location, count: fact.userCount) }
    guard table.count(fact.hash, fact.location) >= -fact.userCount else { return false }
    return change(fact.hash, fact.location, by: fact.userCount) != nil
  }

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
    let left = table.withShard(hash.shard) { shard -> Int? in
      guard let place = table.placeOf(hash, location, shard) else { return nil }
      let word = shard.pointee.slots[place]
      let small = Int(word >> 38 & 3)
      let count = (small > 0 ? small : table.largeCount(location)) + difference
      if count <= 0 {
        remove(place, shard)
      } else {
        shard.pointee.slots[place] = word & ~(3 << 38) | UInt64(count > 3 ? 0 : count) << 38
      }
      // A dictionary access costs more than all else here, so only the few large counts pay for it.
      if count > 3 {
        table.large.withLock { $0[location] = count }
      } else if small == 0 {
        table.large.withLock { $0[location] = nil }
      }
      return max(count, 0)
    }
    if left != nil { journal.note(PayloadFact(hash, location, userCount: difference)) }
    return left
  }

  /// Removes an entry with any count.
  package mutating func removeEntirely(_ hash: ContentHash, _ location: Location) {
    let count = table.withShard(hash.shard) { shard -> Int? in
      guard let place = table.placeOf(hash, location, shard) else { return nil }
      let small = Int(shard.pointee.slots[place] >> 38 & 3)
      remove(place, shard)
      let large = table.large.withLock { $0.removeValue(forKey: location) }
      return small > 0 ? small : large ?? 4
    }
    if let count { journal.note(PayloadFact(hash, location, userCount: -count)) }
  }

  private func remove(_ found: Int, _ shard: UnsafeMutablePointer<ContentTable.Shard>) {
    let slots = shard.pointee.slots
    let capacity = shard.pointee.capacity
    var hole = found
    var place = found
    while true {
      place += 1
      if place == capacity { place = 0 }
      if slots[place] == 0 { break }
      let home = ContentTable.home(ContentTable.tag(slots[place]), capacity)
      let reaches = hole <= place ? (home <= hole || home > place) : (home <= hole && home > place)
      if reaches {
        slots[hole] = slots[place]
        hole = place
      }
    }
    slots[hole] = 0
    shard.pointee.count -= 1
  }

  private func fill(_ word: UInt64, _ slots: UnsafeMutablePointer<UInt64>, _ capacity: Int) {
    var place = ContentTable.home(ContentTable.tag(word), capacity)
    while slots[place] != 0 {
      place += 1
      if place == capacity { place = 0 }
    }
    slots[place] = word
  }

  private func grow(_ shard: UnsafeMutablePointer<ContentTable.Shard>, to count: Int) -> Bool {
    let wanted = max(shard.pointee.capacity * 5 / 4, count * 100 / 85 + 2)
    guard wanted < 1 << 24, let memory = PageMemory(byteCount: wanted * 8, isAligned: false) else { return false }
    let capacity = memory.byteCount / 8
    let slots = memory.start.bindMemory(to: UInt64.self, capacity: capacity)
    for place in 0..<shard.pointee.capacity where shard.pointee.slots[place] != 0 {
      fill(shard.pointee.slots[place], slots, capacity)
    }
    shard.pointee.memory?.free()
    shard.pointee.memory = memory
    shard.pointee.slots = slots
    shard.pointee.capacity = capacity
    return true
  }

  /// As ``KeyTableWriter/reserve(_:)``.
  package func reserve(_ count: Int) {
    for index in 0..<ContentTable.shardCount {
      table.withShard(index) { shard in
        let wanted = shard.pointee.count + count / ContentTable.shardCount * 33 / 32
        if wanted > shard.pointee.capacity * 85 / 100 { _ = grow(shard, to: wanted) }
      }
    }
  }

  /// Fills an empty shard with `count` words, as ``KeyTableWriter/fill(shard:count:_:)`` does.
  /// ``setLargeCount(_:of:)`` follows.
  package func fill(shard index: Int, count: Int, _ next: () -> UInt64?) -> Bool {
    table.withShard(index) { shard in
      if count == 0 { return true }
      guard shard.pointee.count == 0, grow(shard, to: count * 105 / 100) else { return false }
      for _ in 0..<count {
        guard let word = next(), word != 0 else { return false }
        fill(word, shard.pointee.slots, shard.pointee.capacity)
        shard.pointee.count += 1
      }
      return true
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
