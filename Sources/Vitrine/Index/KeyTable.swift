import CVitrineSystem

/// What the index knows of a key: 64 bits. The upper 48 come from the URL's hash alone, so that all styles of a URL
/// stand together; the lower 16 from the style.
package struct KeyHash: Hashable, Sendable {
  package let bits: UInt64
  @inline(__always) package init(bits: UInt64) { self.bits = bits }
  @inline(__always) package init(url: UInt64, styleTag: UInt16) { bits = url & ~0xFFFF | UInt64(styleTag) }

  @inline(__always) var shard: Int { Int(bits >> 58) }
  @inline(__always) var urlTag: UInt32 { UInt32(truncatingIfNeeded: bits >> 26) }
  @inline(__always) var styleTag: UInt16 { UInt16(truncatingIfNeeded: bits) }
  /// As far as the index tells URLs apart.
  func isSameURL(_ other: KeyHash) -> Bool { bits >> 26 == other.bits >> 26 }
  /// The ten bits between tag and style are not kept: what the table gives back has zeros there.
  @inline(__always) package var stored: KeyHash { KeyHash(bits: bits & ~(0x3FF << 16)) }
}

/// An entry of the key table: 16 bytes.
///
/// `word0`: location (38 bits), flags (10), style tag (16). `word1`: URL tag (32), stamp (32) of its last use, or of its
/// put where the policy does not count uses. A `word0` of zero is an empty place.
package struct KeySlot: Sendable {
  package var word0: UInt64
  package var word1: UInt64

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt64
    @inline(__always) package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// The payload was checked since the store was opened, or written by this opening.
    package static let checked = Flags(rawValue: 1)
    /// The record carries no payload.
    package static let reference = Flags(rawValue: 2)
    // 4 and 8 are kept for the two recency bits of the default policy.
    /// The record has an expiry.
    package static let expires = Flags(rawValue: 16)
    /// Those that a checkpoint keeps.
    static let kept: Flags = [.reference, .expires]
  }

  @inline(__always) package init(_ hash: KeyHash, _ location: Location, _ flags: Flags) {
    word0 = location.bits | flags.rawValue << 38 | UInt64(hash.styleTag) << 48
    word1 = UInt64(hash.urlTag)
  }
  @inline(__always) package init(word0: UInt64, word1: UInt64) {
    self.word0 = word0
    self.word1 = word1
  }
  @inline(__always) package var location: Location { Location(bits: word0 & Location.mask) }
  @inline(__always) package var flags: Flags { Flags(rawValue: word0 >> 38 & 0x3FF) }
  /// Without what holds only for this opening.
  package var kept: KeySlot {
    KeySlot(word0: word0 & ~(0x3FF << 38) | flags.intersection(.kept).rawValue << 38, word1: word1)
  }
  @inline(__always) var isEmpty: Bool { word0 == 0 }
  @inline(__always) var urlTag: UInt32 { UInt32(truncatingIfNeeded: word1) }
  /// When it was last used, by the table's ``RecencyClock``.
  @inline(__always) package var stamp: UInt32 {
    get { UInt32(truncatingIfNeeded: word1 >> 32) }
    set { word1 = word1 & 0xFFFF_FFFF | UInt64(newValue) << 32 }
  }
  @inline(__always) func matches(_ hash: KeyHash) -> Bool {
    urlTag == hash.urlTag && UInt16(truncatingIfNeeded: word0 >> 48) == hash.styleTag
  }
  package func hash(shard: Int) -> KeyHash {
    KeyHash(bits: UInt64(shard) << 58 | UInt64(urlTag) << 26 | word0 >> 48)
  }
}

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
  private struct Shard {
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

  private let shards: UnsafeMutablePointer<Shard>
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
      shards[index].memory?.free()
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
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    let address = shard.pointee.slots + KeyTable.home(hash.urlTag, shard.pointee.capacity)
    shard.pointee.lock.unlock()
    vitrine_prefetch(address)
  }

  // MARK: Looking up

  /// Calls `body` with the `skip`-th entry that the hash fits, under the shard's lock; nil when there is none. Counts
  /// a hit or a miss when `counts`, and then notes the use unless it `isAsked` for something that the entry may not be.
  @inline(__always)
  package func find<R>(
    _ hash: KeyHash, skip: Int = 0, counts: Bool, isAsked: Bool = false, _ body: (KeySlot) -> R
  ) -> R? {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    let capacity = shard.pointee.capacity
    if capacity > 0 {
      let slots = shard.pointee.slots
      var place = KeyTable.home(hash.urlTag, capacity)
      var left = skip
      while true {
        let slot = slots[place]
        if slot.isEmpty { break }
        if slot.matches(hash) {
          if left == 0 {
            if counts {
              shard.pointee.hits &+= 1
              // Whether it has expired may hang on its last use, so that is noted by whoever finds that it has not.
              if stampsHits, !isAsked, !slot.flags.contains(.expires) { slots[place].stamp = clock.tick() }
            }
            return body(slot)
          }
          left -= 1
        }
        place += 1
        if place == capacity { place = 0 }
      }
    }
    if counts { shard.pointee.misses &+= 1 }
    return nil
  }

  /// Calls `body` with an entry under its shard's lock; nil when it is no longer there.
  package func withEntry<R>(_ hash: KeyHash, _ location: Location, _ body: (KeySlot) -> R) -> R? {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    return placeOf(hash, location, shard).map { body(shard.pointee.slots[$0]) }
  }

  /// Whether an entry is there.
  package func find(_ hash: KeyHash, _ location: Location) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    return placeOf(hash, location, shard) != nil
  }

  /// A lookup that counted a hit found another key, or nothing that could be given.
  package func correctHitToMiss(_ hash: KeyHash) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    shard.pointee.hits &-= 1
    shard.pointee.misses &+= 1
    shard.pointee.lock.unlock()
  }

  /// Calls `body` under the shard's lock with every entry of the URL, whatever its style.
  package func forEachStyle(_ hash: KeyHash, _ body: (KeySlot, KeyHash) -> Void) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
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

  // MARK: Changing

  /// Enters a key that is not there. False when memory is short.
  package func insert(_ slot: KeySlot, _ hash: KeyHash) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    return insert(slot, shard)
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
    guard wanted < KeyTable.mostPlaces, let memory = PageMemory(byteCount: wanted * 16) else { return false }
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
      let shard = shards + index
      shard.pointee.lock.lock()
      let wanted = shard.pointee.count + count / KeyTable.shardCount * 33 / 32
      if wanted > shard.pointee.capacity * 85 / 100 { _ = grow(shard, to: wanted) }
      shard.pointee.lock.unlock()
    }
  }

  /// Fills an empty shard with `count` entries, as fast as memory goes when they come in the table's order. False when
  /// `next` gives none, or memory is short.
  package func fill(shard index: Int, count: Int, _ next: () -> KeySlot?) -> Bool {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
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

  @inline(__always)
  private func placeOf(_ hash: KeyHash, _ location: Location, _ shard: UnsafeMutablePointer<Shard>) -> Int? {
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return nil }
    var place = KeyTable.home(hash.urlTag, capacity)
    while !shard.pointee.slots[place].isEmpty {
      let slot = shard.pointee.slots[place]
      if slot.location == location && slot.matches(hash) { return place }
      place += 1
      if place == capacity { place = 0 }
    }
    return nil
  }

  /// Points the entry at `location` somewhere else. False when it is not there.
  package func replace(_ hash: KeyHash, _ location: Location, with slot: KeySlot) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return false }
    shard.pointee.slots[place] = slot
    return true
  }

  /// Points the entry at `location` to a copy of its record; its last use stays what it was. False when it is not there.
  package func move(_ hash: KeyHash, from location: Location, to copy: Location) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    guard let place = placeOf(hash, location, shard) else { return false }
    let word0 = shard.pointee.slots[place].word0
    shard.pointee.slots[place].word0 = word0 & ~Location.mask | copy.bits
    return true
  }

  /// Notes a use; does nothing when the entry has moved on.
  package func touch(_ hash: KeyHash, _ location: Location) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    if let place = placeOf(hash, location, shard) { shard.pointee.slots[place].stamp = clock.tick() }
  }

  /// Where the entry's record lies that was used last when the clock gave `stamp`; nil when it was used since, or has
  /// gone.
  package func location(of hash: KeyHash, stamp: UInt32) -> Location? {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return nil }
    var place = KeyTable.home(hash.urlTag, capacity)
    while !shard.pointee.slots[place].isEmpty {
      let slot = shard.pointee.slots[place]
      if slot.stamp == stamp && slot.matches(hash) { return slot.location }
      place += 1
      if place == capacity { place = 0 }
    }
    return nil
  }

  /// Gives entries that were not used for the last 2^31 uses stamps of just that age, in their order, so that no age comes
  /// round. `readings` of the clock are lifted along with them, so that what was used before one of them still was: answers
  /// their new stamps. O(entries), and a sort of the old ones. Calls must not overlap.
  @discardableResult
  package func liftOldStamps(readings: [UInt32] = []) -> [UInt32: UInt32] {
    let now = clock.now
    let limit: UInt32 = 1 << 31
    var old: [(hash: KeyHash?, stamp: UInt32, age: UInt32)] = []
    for stamp in readings {
      let age = RecencyClock.age(of: stamp, at: now)
      if age > limit { old.append((nil, stamp, age)) }
    }
    for index in 0..<KeyTable.shardCount {
      forEach(shard: index) { slot in
        let age = RecencyClock.age(of: slot.stamp, at: now)
        if age > limit { old.append((slot.hash(shard: index), slot.stamp, age)) }
      }
    }
    // Whoever was used just when a reading was taken was used by then.
    old.sort { $0.age != $1.age ? $0.age < $1.age : $0.hash == nil && $1.hash != nil }
    var lifted: [UInt32: UInt32] = [:]
    // From the youngest on, so that on the way too nobody is passed.
    for (rank, entry) in old.enumerated() {
      let new = now &- limit &- UInt32(truncatingIfNeeded: rank)
      if let hash = entry.hash { restamp(hash, entry.stamp, new) } else { lifted[entry.stamp] = new }
    }
    return lifted
  }

  private func restamp(_ hash: KeyHash, _ stamp: UInt32, _ new: UInt32) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    var place = KeyTable.home(hash.urlTag, shard.pointee.capacity)
    while shard.pointee.capacity > 0, !shard.pointee.slots[place].isEmpty {
      if shard.pointee.slots[place].stamp == stamp, shard.pointee.slots[place].matches(hash) {
        shard.pointee.slots[place].stamp = new
        return
      }
      place += 1
      if place == shard.pointee.capacity { place = 0 }
    }
  }

  /// Notes that the payload behind an entry was checked; does nothing when the entry has moved on.
  package func setChecked(_ hash: KeyHash, _ location: Location) {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    if let place = placeOf(hash, location, shard) {
      shard.pointee.slots[place].word0 |= KeySlot.Flags.checked.rawValue << 38
    }
  }

  /// False when the entry is not there.
  package func remove(_ hash: KeyHash, _ location: Location) -> Bool {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
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

  /// Removes the entries of one URL that lie at `locations`, in one pass over the run, whatever their number; answers how
  /// many there were. The rest of the run is laid out anew in the order of its homes, which is where one by one would
  /// have found room (Knuth, TAOCP 3, 6.4).
  package func removeStyles(of hash: KeyHash, at locations: Set<Location>) -> Int {
    let shard = shards + hash.shard
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    let slots = shard.pointee.slots
    let capacity = shard.pointee.capacity
    guard capacity > 0 else { return 0 }
    let start = KeyTable.home(hash.urlTag, capacity)
    func place(_ distance: Int) -> Int { start + distance < capacity ? start + distance : start + distance - capacity }
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
      let (mine, its) = (shards + index, other.shards + index)
      mine.pointee.lock.lock()
      defer { mine.pointee.lock.unlock() }
      swap(&mine.pointee.slots, &its.pointee.slots)
      swap(&mine.pointee.memory, &its.pointee.memory)
      swap(&mine.pointee.capacity, &its.pointee.capacity)
      swap(&mine.pointee.count, &its.pointee.count)
    }
    clock.set(other.clock.now)
  }

  package func removeAll() {
    for index in 0..<KeyTable.shardCount {
      let shard = shards + index
      shard.pointee.lock.lock()
      shard.pointee.memory?.free()
      shard.pointee.memory = nil
      shard.pointee.capacity = 0
      shard.pointee.count = 0
      shard.pointee.lock.unlock()
    }
  }

  // MARK: All of it

  /// Calls `body` with a copy of the entries of one shard, in the table's order, without its lock.
  package func copy(shard index: Int) -> [KeySlot] {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    var entries: [KeySlot] = []
    entries.reserveCapacity(shard.pointee.count)
    for place in 0..<shard.pointee.capacity where !shard.pointee.slots[place].isEmpty {
      entries.append(shard.pointee.slots[place])
    }
    return entries
  }

  /// Calls `body` with each entry of one shard under its lock.
  package func forEach(shard index: Int, _ body: (KeySlot) -> Void) {
    let shard = shards + index
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlock() }
    for place in 0..<shard.pointee.capacity where !shard.pointee.slots[place].isEmpty {
      body(shard.pointee.slots[place])
    }
  }

  package func count(shard index: Int) -> Int {
    shards[index].lock.lock()
    defer { shards[index].lock.unlock() }
    return shards[index].count
  }

  /// Hits and misses counted so far.
  package var lookups: (hits: Int, misses: Int) {
    var total = (hits: 0, misses: 0)
    for index in 0..<KeyTable.shardCount {
      shards[index].lock.lock()
      total.hits += shards[index].hits
      total.misses += shards[index].misses
      shards[index].lock.unlock()
    }
    return total
  }
}
