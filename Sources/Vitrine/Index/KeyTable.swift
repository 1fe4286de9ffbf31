import CVitrineSystem

/// From keys to records: open addressing with linear probing in 64 shards, each behind its own lock.
///
/// A place comes from the URL's hash alone, so all styles of a URL are one run of the table. Capacities are not powers
/// of two but grow by a quarter: at 85 % most and 68 % least full, an entry takes 19 to 24 bytes. Deleting shifts the
/// run back, so there are no tombstones (Knuth, TAOCP 3, 6.4, algorithm R).
///
/// Readers and writers lock a shard for as long as a probe takes. The closures run under that lock: they must not call
/// the table.
package final class KeyTable: @unchecked Sendable {
  package static let shardCount = 64
  /// A table would hold 2^32 places in a shard before tags stop telling places apart.
  private static let mostPlaces = 1 << 31

  /// Invariant: `slots` has room for `capacity` places, `count` of them are taken, and at least one is empty when
  /// `capacity` is not 0. All guarded by `lock`.
  struct Shard {
    var slots: UnsafeMutablePointer<KeySlot>
    var memory: PageMemory?
    var capacity: Int
    var count: Int
    var hits: Int
    var misses: Int
    let lock: RawLock
    /// Keeps neighbours off one cache line.
    var padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  let shards: UnsafeMutablePointer<Shard>
  package let clock = RecencyClock()
  /// Whether a counted lookup of an entry without an expiry is a use. Set before the table serves.
  @exclusivity(unchecked) package var stampsHits = true

  package init() {
    shards = .allocate(capacity: KeyTable.shardCount)
    for index in 0..<KeyTable.shardCount {
      (shards + index).initialize(
        to: Shard(
          slots: UnsafeMutablePointer(bitPattern: 16)!, memory: nil, capacity: 0, count: 0, hits: 0, misses: 0,
          lock: RawLock()))
    }
  }

  deinit {
    for index in 0..<KeyTable.shardCount {
      // Nobody else is there any more; the lock says so to tools that do not see references counted.
      shards[index].lock.lock()
      shards[index].memory?.free()
      shards[index].lock.unlock()
      shards[index].lock.destroy()
    }
    shards.deallocate()
  }

  @inline(__always)
  private static func home(_ tag: UInt32, _ capacity: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(capacity)) >> 32)
  }

  @inline(__always)
  package func prefetch(_ hash: KeyHash) {
    vitrine_prefetch(
      withShard(hash.shard) { shard in
        shard.pointee.slots + KeyTable.home(hash.urlTag, shard.pointee.capacity)
      })
  }

  /// Calls `body` with a shard under its lock.
  @inline(__always)
  func withShard<R>(_ index: Int, _ body: (UnsafeMutablePointer<Shard>) -> R) -> R {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    return body(shard)
  }

  /// Takes and gives back each shard's lock: what readers did under one before, such as pinning, is seen after this.
  func passLocks() {
    for shard in 0..<KeyTable.shardCount { withShard(shard) { _ in } }
  }

  /// Where the first entry stands that the hash fits and `isMeant`. Under the shard's lock.
  @inline(__always)
  func placeOf(_ hash: KeyHash, _ shard: UnsafeMutablePointer<Shard>, where isMeant: (KeySlot) -> Bool) -> Int? {
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return nil }
    var place = KeyTable.home(hash.urlTag, capacity)
    while !shard.pointee.slots[place].isEmpty {
      let slot = shard.pointee.slots[place]
      if slot.matches(hash), isMeant(slot) { return place }
      place += 1
      if place == capacity { place = 0 }
    }
    return nil
  }

  @inline(__always)
  func placeOf(_ hash: KeyHash, _ location: Location, _ shard: UnsafeMutablePointer<Shard>) -> Int? {
    placeOf(hash, shard) { $0.location == location }
  }

  // MARK: Looking up

  /// Calls `body` with the `skip`-th entry that the hash fits, under the shard's lock; nil when there is none. Counts
  /// a hit or a miss when `counts`, and then notes the use unless it `isAsked` for something that the entry may not be.
  @inline(__always)
  package func find<R>(
    _ hash: KeyHash, skip: Int = 0, counts: Bool, isAsked: Bool = false, _ body: (KeySlot) -> R
  ) -> R? {
    withShard(hash.shard) { shard in
      var left = skip
      let found = placeOf(hash, shard) { _ in
        left -= 1
        return left < 0
      }
      guard let place = found else {
        if counts { shard.pointee.misses &+= 1 }
        return nil
      }
      let slot = shard.pointee.slots[place]
      if counts {
        shard.pointee.hits &+= 1
        // Whether it has expired may hang on its last use, so that is noted by whoever finds that it has not.
        if stampsHits, !isAsked, !slot.flags.contains(.expires) { shard.pointee.slots[place].stamp = clock.tick() }
      }
      return body(slot)
    }
  }

  /// Calls `body` with an entry under its shard's lock; nil when it is no longer there.
  package func withEntry<R>(_ hash: KeyHash, _ location: Location, _ body: (KeySlot) -> R) -> R? {
    withShard(hash.shard) { shard in placeOf(hash, location, shard).map { body(shard.pointee.slots[$0]) } }
  }

  /// Whether an entry is there.
  package func find(_ hash: KeyHash, _ location: Location) -> Bool {
    withShard(hash.shard) { shard in placeOf(hash, location, shard) != nil }
  }

  /// A lookup that counted a hit found another key, or nothing that could be given.
  package func correctHitToMiss(_ hash: KeyHash) {
    withShard(hash.shard) { shard in
      shard.pointee.hits &-= 1
      shard.pointee.misses &+= 1
    }
  }

  /// Calls `body` under the shard's lock with every entry of the URL, whatever its style.
  package func forEachStyle(_ hash: KeyHash, _ body: (KeySlot, KeyHash) -> Void) {
    withShard(hash.shard) { shard in
      let capacity = shard.pointee.capacity
      guard capacity > 0 else { return }
      var place = KeyTable.home(hash.urlTag, capacity)
      while !shard.pointee.slots[place].isEmpty {
        let slot = shard.pointee.slots[place]
        if slot.urlTag == hash.urlTag { body(slot, slot.hash(shard: hash.shard)) }
        place += 1
        if place == capacity { place = 0 }
      }
    }
  }

  // MARK: Changing

  /// Enters a key that is not there. False when memory is short.
  package func insert(_ slot: KeySlot, _ hash: KeyHash) -> Bool {
    withShard(hash.shard) { shard in insert(slot, shard) }
  }

  private func insert(_ slot: KeySlot, _ shard: UnsafeMutablePointer<Shard>) -> Bool {
    if shard.pointee.count + 1 > shard.pointee.capacity * 85 / 100, !grow(shard, to: shard.pointee.count + 1) {
      return false
    }
    KeyTable.place(slot, shard.pointee.slots, shard.pointee.capacity)
    shard.pointee.count += 1
    return true
  }

  @inline(__always)
  private static func place(_ slot: KeySlot, _ slots: UnsafeMutablePointer<KeySlot>, _ capacity: Int) {
    var place = home(slot.urlTag, capacity)
    while !slots[place].isEmpty {
      place += 1
      if place == capacity { place = 0 }
    }
    slots[place] = slot
  }

  private func grow(_ shard: UnsafeMutablePointer<Shard>, to count: Int) -> Bool {
    let wanted = max(shard.pointee.capacity * 5 / 4, count * 100 / 85 + 2)
    guard wanted < KeyTable.mostPlaces, let memory = PageMemory(byteCount: wanted * 16, isAligned: false) else {
      return false
    }
    let slots = memory.start.bindMemory(to: KeySlot.self, capacity: memory.byteCount / 16)
    let capacity = memory.byteCount / 16
    for place in 0..<shard.pointee.capacity where !shard.pointee.slots[place].isEmpty {
      KeyTable.place(shard.pointee.slots[place], slots, capacity)
    }
    shard.pointee.memory?.free()
    shard.pointee.memory = memory
    shard.pointee.slots = slots
    shard.pointee.capacity = capacity
    return true
  }

  /// Makes room for `count` more entries at once, instead of growing again and again on the way there. Room that cannot
  /// be had is asked for again by each insertion.
  package func reserve(_ count: Int) {
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        let wanted = shard.pointee.count + count / KeyTable.shardCount * 33 / 32
        if wanted > shard.pointee.capacity * 85 / 100 { _ = grow(shard, to: wanted) }
      }
    }
  }

  /// Fills an empty shard with `count` entries, as fast as memory goes when they come in the table's order. False when
  /// `next` gives none, or memory is short.
  package func fill(shard index: Int, count: Int, _ next: () -> KeySlot?) -> Bool {
    withShard(index) { shard in
      if count == 0 { return true }
      guard shard.pointee.count == 0, grow(shard, to: count * 105 / 100) else { return false }
      let slots = shard.pointee.slots
      let capacity = shard.pointee.capacity
      for _ in 0..<count {
        guard let slot = next(), !slot.isEmpty else { return false }
        KeyTable.place(slot, slots, capacity)
        shard.pointee.count += 1
      }
      return true
    }
  }

  /// Points the entry at `location` somewhere else. False when it is not there.
  package func replace(_ hash: KeyHash, _ location: Location, with slot: KeySlot) -> Bool {
    withShard(hash.shard) { shard in
      guard let place = placeOf(hash, location, shard) else { return false }
      shard.pointee.slots[place] = slot
      return true
    }
  }

  /// Points the entry at `location` to a copy of its record; its last use stays what it was. False when it is not there.
  package func move(_ hash: KeyHash, from location: Location, to copy: Location) -> Bool {
    withShard(hash.shard) { shard in
      guard let place = placeOf(hash, location, shard) else { return false }
      let word0 = shard.pointee.slots[place].word0
      shard.pointee.slots[place].word0 = word0 & ~Location.mask | copy.bits
      return true
    }
  }

  /// Notes that the payload behind an entry was checked; does nothing when the entry has moved on.
  package func setChecked(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      if let place = placeOf(hash, location, shard) {
        shard.pointee.slots[place].word0 |= KeySlot.Flags.checked.rawValue << 38
      }
    }
  }

  /// False when the entry is not there.
  package func remove(_ hash: KeyHash, _ location: Location) -> Bool {
    withShard(hash.shard) { shard in
      guard var hole = placeOf(hash, location, shard) else { return false }
      let slots = shard.pointee.slots
      let capacity = shard.pointee.capacity
      var place = hole
      while true {
        place += 1
        if place == capacity { place = 0 }
        if slots[place].isEmpty { break }
        // An entry may fill the hole unless its home lies behind the hole (cyclically).
        let home = KeyTable.home(slots[place].urlTag, capacity)
        let reaches = hole <= place ? (home <= hole || home > place) : (home <= hole && home > place)
        if reaches {
          slots[hole] = slots[place]
          hole = place
        }
      }
      slots[hole] = KeySlot(word0: 0, word1: 0)
      shard.pointee.count -= 1
      return true
    }
  }

  /// Removes the entries of one URL that lie at `locations`, in one pass over the run, whatever their number; answers how
  /// many there were. The rest of the run is laid out anew in the order of its homes, which is where one by one would
  /// have found room (Knuth, TAOCP 3, 6.4).
  package func removeStyles(of hash: KeyHash, at locations: Set<Location>) -> Int {
    withShard(hash.shard) { shard in
      let slots = shard.pointee.slots
      let capacity = shard.pointee.capacity
      guard capacity > 0 else { return 0 }
      let start = KeyTable.home(hash.urlTag, capacity)
      func place(_ distance: Int) -> Int {
        start + distance < capacity ? start + distance : start + distance - capacity
      }
      // What stays, with how far behind the start it may stand at the earliest: its home, or the start for what came from
      // before it, since all places up to the start stay taken.
      var staying: [(earliest: Int, slot: KeySlot)] = []
      var length = 0
      while !slots[place(length)].isEmpty {
        let slot = slots[place(length)]
        if slot.urlTag != hash.urlTag || !locations.contains(slot.location) {
          let home = KeyTable.home(slot.urlTag, capacity) - start
          let distance = home < 0 ? home + capacity : home
          staying.append((distance <= length ? distance : 0, slot))
        }
        slots[place(length)] = KeySlot(word0: 0, word1: 0)
        length += 1
      }
      staying.sort { $0.earliest < $1.earliest }
      var next = 0
      for (earliest, slot) in staying {
        next = max(next, earliest)
        slots[place(next)] = slot
        next += 1
      }
      shard.pointee.count -= length - staying.count
      return length - staying.count
    }
  }

  /// Gives every entry another location and flags, where it stands. For a table that nobody reads yet.
  package func relocate(_ body: (_ slot: KeySlot, _ hash: KeyHash) -> (location: Location, flags: KeySlot.Flags)) {
    for index in 0..<KeyTable.shardCount {
      let shard = shards[index]
      for place in 0..<shard.capacity where !shard.slots[place].isEmpty {
        let hash = shard.slots[place].hash(shard: index)
        let (location, flags) = body(shard.slots[place], hash)
        let moved = KeySlot(hash, location, flags)
        shard.slots[place].word0 = moved.word0
      }
    }
  }

  /// Changes places with the entries of another table, which nobody else reads, one shard after another: a lookup finds
  /// a key as it is in the one or in the other. What was counted stays.
  package func exchange(with other: KeyTable) {
    for index in 0..<KeyTable.shardCount {
      let its = other.shards + index
      withShard(index) { mine in
        swap(&mine.pointee.slots, &its.pointee.slots)
        swap(&mine.pointee.memory, &its.pointee.memory)
        swap(&mine.pointee.capacity, &its.pointee.capacity)
        swap(&mine.pointee.count, &its.pointee.count)
      }
    }
    clock.set(other.clock.now)
  }

  package func removeAll() {
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        shard.pointee.memory?.free()
        shard.pointee.memory = nil
        shard.pointee.capacity = 0
        shard.pointee.count = 0
      }
    }
  }

  // MARK: All of it

  /// Calls `body` with a copy of the entries of one shard, in the table's order, without its lock.
  package func copy(shard index: Int) -> [KeySlot] {
    withShard(index) { shard in
      var entries: [KeySlot] = []
      entries.reserveCapacity(shard.pointee.count)
      for place in 0..<shard.pointee.capacity where !shard.pointee.slots[place].isEmpty {
        entries.append(shard.pointee.slots[place])
      }
      return entries
    }
  }

  /// Calls `body` with each entry of one shard under its lock.
  package func forEach(shard index: Int, _ body: (KeySlot) -> Void) {
    withShard(index) { shard in
      for place in 0..<shard.pointee.capacity where !shard.pointee.slots[place].isEmpty {
        body(shard.pointee.slots[place])
      }
    }
  }

  package func count(shard index: Int) -> Int {
    withShard(index) { $0.pointee.count }
  }

  /// Hits and misses counted so far.
  package var lookups: (hits: Int, misses: Int) {
    var total = (hits: 0, misses: 0)
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        total.hits += shard.pointee.hits
        total.misses += shard.pointee.misses
      }
    }
    return total
  }
}
