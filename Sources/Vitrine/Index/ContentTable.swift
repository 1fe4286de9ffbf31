import CVitrineSystem

/// Maps digests to payloads: 8 bytes an entry (location 38 bits, count of keys 2, tag 24), in 64 shards built as in
/// ``KeyTable``.
///
/// The two bits count 1, 2 or 3 keys. A count of 0 there means 4 or more, kept in a separate table: shared payloads
/// are rare, and widely shared ones few. A tag match is a candidate only: the caller reads the record at the
/// location to decide.
///
/// Readers use ``candidates(_:_:)``; every change is made under the store's commit lock.
///
/// Invariant: all fields of a shard are touched only under its lock, or while one thread alone knows the table.
package final class ContentTable: @unchecked Sendable {
  package static let shardCount = 64

  /// Invariant: as in ``KeyTable``.
  private struct Shard {
    var slots: UnsafeMutablePointer<UInt64>
    var memory: PageMemory?
    var capacity: Int
    var count: Int
    let lock: RawLock
  }

  private let shards: UnsafeMutablePointer<Shard>
  /// Counts of 4 and more.
  private let large = Guarded<[Location: Int]>([:])

  /// The blobs that 4 or more keys use, with the number of their keys.
  package var largeCounts: [Location: Int] { large.withLock { $0 } }
  /// The number of such blobs.
  package var largeCountCount: Int { large.withLock { $0.count } }

  package init() {
    shards = .allocate(capacity: ContentTable.shardCount)
    for index in 0..<ContentTable.shardCount {
      (shards + index).initialize(
        to: Shard(
          slots: UnsafeMutablePointer(bitPattern: 16)!, memory: nil, capacity: 0, count: 0, lock: RawLock()))
    }
  }

  deinit {
    for index in 0..<ContentTable.shardCount {
      // No other reference is left. The lock tells that to tools that do not see reference counts.
      shards[index].lock.lock()
      shards[index].memory?.free()
      shards[index].lock.unlock()
      shards[index].lock.destroy()
    }
    shards.deallocate()
  }

  @inline(__always)
  private static func home(_ tag: UInt64, _ capacity: Int) -> Int {
    Int(truncatingIfNeeded: (tag &* UInt64(capacity)) >> 24)
  }
  @inline(__always) private static func tag(_ word: UInt64) -> UInt64 { word >> 40 }
  @inline(__always) private static func location(_ word: UInt64) -> Location { Location(bits: word & Location.mask) }

  @inline(__always)
  package func prefetch(_ hash: ContentHash) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    let address = shard.pointee.slots + ContentTable.home(hash.tag, shard.pointee.capacity)
    shard.pointee.lock.unlock()
    vitrine_prefetch(address)
  }

  /// As ``KeyTable/passLocks()``.
  func passLocks() {
    for shard in 0..<ContentTable.shardCount {
      shards[shard].lock.lock()
      shards[shard].lock.unlock()
    }
  }

  /// Calls `body` under the shard's lock with the location of each blob that the hash fits, until it returns false.
  @inline(__always)
  package func candidates(_ hash: ContentHash, _ body: (Location) -> Bool) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return }
    var place = ContentTable.home(hash.tag, capacity)
    while shard.pointee.slots[place] != 0 {
      let word = shard.pointee.slots[place]
      if ContentTable.tag(word) == hash.tag, !body(ContentTable.location(word)) { return }
      place += 1
      if place == capacity { place = 0 }
    }
  }

  private func placeOf(_ hash: ContentHash, _ location: Location, _ shard: UnsafeMutablePointer<Shard>) -> Int? {
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return nil }
    var place = ContentTable.home(hash.tag, capacity)
    while shard.pointee.slots[place] != 0 {
      let word = shard.pointee.slots[place]
      if ContentTable.location(word) == location && ContentTable.tag(word) == hash.tag { return place }
      place += 1
      if place == capacity { place = 0 }
    }
    return nil
  }

  /// Returns whether the table has a blob at `location`. Any thread.
  package func has(_ hash: ContentHash, _ location: Location) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    return placeOf(hash, location, shard) != nil
  }

  /// Returns the number of keys that use the blob at `location`, 0 if the table does not have it.
  package func count(_ hash: ContentHash, _ location: Location) -> Int {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return 0 }
    let small = Int(shard.pointee.slots[place] >> 38 & 3)
    return small > 0 ? small : largeCount(location)
  }

  private func largeCount(_ location: Location) -> Int { large.withLock { $0[location] ?? 4 } }

  /// Enters a blob that `count` keys use. Returns false when memory is short.
  package func insert(_ hash: ContentHash, _ location: Location, count: Int = 1) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    if shard.pointee.count + 1 > shard.pointee.capacity * 85 / 100, !grow(shard, to: shard.pointee.count + 1) {
      return false
    }
    if count > 3 { large.withLock { $0[location] = count } }
    let word = location.bits | UInt64(count > 3 ? 0 : count) << 38 | hash.tag << 40
    ContentTable.fill(word, shard.pointee.slots, shard.pointee.capacity)
    shard.pointee.count += 1
    return true
  }

  /// Counts one more key that uses the blob. Returns false if the table does not have it.
  package func retain(_ hash: ContentHash, _ location: Location) -> Bool {
    change(hash, location, by: 1) != nil
  }

  /// Counts one key less, and removes the blob with its last key. Returns the number of keys left, nil if the table
  /// does not have the blob.
  package func release(_ hash: ContentHash, _ location: Location) -> Int? {
    change(hash, location, by: -1)
  }

  /// Points a blob to a copy of its payload; its count of keys stays. Returns false if the table does not have the
  /// blob.
  package func move(_ hash: ContentHash, from location: Location, to copy: Location) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return false }
    let word = shard.pointee.slots[place]
    shard.pointee.slots[place] = word & ~Location.mask | copy.bits
    if ContentTable.hasLargeCount(word) { large.withLock { $0[copy] = $0.removeValue(forKey: location) } }
    return true
  }

  private func change(_ hash: ContentHash, _ location: Location, by difference: Int) -> Int? {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return nil }
    let word = shard.pointee.slots[place]
    let small = Int(word >> 38 & 3)
    let count = (small > 0 ? small : largeCount(location)) + difference
    if count <= 0 {
      remove(place, shard)
    } else {
      shard.pointee.slots[place] = word & ~(3 << 38) | UInt64(count > 3 ? 0 : count) << 38
    }
    // A dictionary access costs more than all else here, so only the few large counts pay for it.
    if count > 3 {
      large.withLock { $0[location] = count }
    } else if small == 0 {
      large.withLock { $0[location] = nil }
    }
    return max(count, 0)
  }

  private func remove(_ found: Int, _ shard: UnsafeMutablePointer<Shard>) {
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

  private static func fill(_ word: UInt64, _ slots: UnsafeMutablePointer<UInt64>, _ capacity: Int) {
    var place = home(tag(word), capacity)
    while slots[place] != 0 {
      place += 1
      if place == capacity { place = 0 }
    }
    slots[place] = word
  }

  private func grow(_ shard: UnsafeMutablePointer<Shard>, to count: Int) -> Bool {
    let wanted = max(shard.pointee.capacity * 5 / 4, count * 100 / 85 + 2)
    guard wanted < 1 << 24, let memory = PageMemory(byteCount: wanted * 8, isAligned: false) else { return false }
    let capacity = memory.byteCount / 8
    let slots = memory.start.bindMemory(to: UInt64.self, capacity: capacity)
    for place in 0..<shard.pointee.capacity where shard.pointee.slots[place] != 0 {
      ContentTable.fill(shard.pointee.slots[place], slots, capacity)
    }
    shard.pointee.memory?.free()
    shard.pointee.memory = memory
    shard.pointee.slots = slots
    shard.pointee.capacity = capacity
    return true
  }

  /// As ``KeyTable/reserve(_:)``.
  package func reserve(_ count: Int) {
    for index in 0..<ContentTable.shardCount {
      let shard = shards + index
      shard.pointee.lock.lock()
      let wanted = shard.pointee.count + count / ContentTable.shardCount * 33 / 32
      if wanted > shard.pointee.capacity * 85 / 100 { _ = grow(shard, to: wanted) }
      shard.pointee.lock.unlock()
    }
  }

  /// Fills an empty shard with `count` words, as ``KeyTable/fill(shard:count:_:)`` does. ``setLargeCount(_:of:)``
  /// follows.
  package func fill(shard index: Int, count: Int, _ next: () -> UInt64?) -> Bool {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    if count == 0 { return true }
    guard shard.pointee.count == 0, grow(shard, to: count * 105 / 100) else { return false }
    for _ in 0..<count {
      guard let word = next(), word != 0 else { return false }
      ContentTable.fill(word, shard.pointee.slots, shard.pointee.capacity)
      shard.pointee.count += 1
    }
    return true
  }

  /// Sets the number of keys of a blob whose word says 4 or more.
  package func setLargeCount(_ count: Int, of location: Location) { large.withLock { $0[location] = count } }

  /// Gives every blob another location, at its place in the table. Only for a table without readers.
  package func relocate(_ body: (Location) -> Location) {
    for index in 0..<ContentTable.shardCount {
      let shard = shards[index]
      for place in 0..<shard.capacity where shard.slots[place] != 0 {
        let word = shard.slots[place]
        shard.slots[place] = word & ~Location.mask | body(ContentTable.location(word)).bits
      }
    }
    large.withLock { $0 = Dictionary(uniqueKeysWithValues: $0.map { (body($0.key), $0.value) }) }
  }

  /// Exchanges the entries with those of a table without readers, one shard after another.
  package func exchange(with other: ContentTable) {
    for index in 0..<ContentTable.shardCount {
      let (mine, its) = (shards + index, other.shards + index)
      mine.pointee.lock.lock()
      defer { mine.pointee.lock.unlock() }
      swap(&mine.pointee.slots, &its.pointee.slots)
      swap(&mine.pointee.memory, &its.pointee.memory)
      swap(&mine.pointee.capacity, &its.pointee.capacity)
      swap(&mine.pointee.count, &its.pointee.count)
    }
    let theirs = other.largeCounts
    large.withLock { mine in
      other.large.withLock { $0 = mine }
      mine = theirs
    }
  }

  package func removeAll() {
    for index in 0..<ContentTable.shardCount {
      let shard = shards + index
      shard.pointee.lock.lock()
      shard.pointee.memory?.free()
      shard.pointee.memory = nil
      shard.pointee.capacity = 0
      shard.pointee.count = 0
      shard.pointee.lock.unlock()
    }
    large.withLock { $0.removeAll() }
  }

  /// Calls `body` with the word of each entry of a shard (hash as far as it is kept, location, count bits), under
  /// its lock.
  package func forEach(shard index: Int, _ body: (UInt64) -> Void) {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    for place in 0..<shard.pointee.capacity where shard.pointee.slots[place] != 0 { body(shard.pointee.slots[place]) }
  }

  /// Returns a copy of the words of a shard.
  package func copy(shard index: Int) -> [UInt64] {
    var words: [UInt64] = []
    forEach(shard: index) { words.append($0) }
    return words
  }

  package static func hash(ofWord word: UInt64, shard: Int) -> ContentHash {
    ContentHash(bits: UInt64(shard) << 58 | tag(word) << 34)
  }

  /// Removes an entry with any count.
  package func removeEntirely(_ hash: ContentHash, _ location: Location) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return }
    remove(place, shard)
    large.withLock { $0[location] = nil }
  }

  package static func location(ofWord word: UInt64) -> Location { location(word) }
  package static func hasLargeCount(_ word: UInt64) -> Bool { word >> 38 & 3 == 0 }

  package func count(shard index: Int) -> Int {
    shards[index].lock.lock()
    defer { shards[index].lock.unlock() }
    return shards[index].count
  }
}
