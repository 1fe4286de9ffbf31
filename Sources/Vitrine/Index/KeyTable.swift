import CVitrineSystem

/// From keys to records: open addressing in 64 shards (``SlotArray``), each behind its own lock.
///
/// A place comes from the URL's hash alone, so the styles of a URL are one run of the table; those of a URL that has very
/// many stand in a table of their own beside it (``CrowdedURLs``).
///
/// Readers and writers lock a shard for as long as a probe takes. The closures run under that lock: they must not call
/// the table.
package final class KeyTable: @unchecked Sendable {
  package static let shardCount = 64

  /// All guarded by `lock`.
  struct Shard {
    var run = SlotArray(order: .url)
    /// Nil where no URL has many styles.
    var crowds: CrowdedURLs?
    /// Changes of entries that stand beside others of a crowded URL.
    var changes: UInt64 = 0
    var hits = 0
    var misses = 0
    let lock = RawLock()
    /// Keeps neighbours off one cache line.
    var padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)

    var count: Int { run.count + (crowds?.count ?? 0) }
  }

  private let shards: UnsafeMutablePointer<Shard>
  package let clock = RecencyClock()
  /// Whether a counted lookup of an entry without an expiry is a use. Set before the table serves.
  @exclusivity(unchecked) package var stampsHits = true

  package init() {
    shards = .allocate(capacity: KeyTable.shardCount)
    for index in 0..<KeyTable.shardCount { (shards + index).initialize(to: Shard()) }
  }

  deinit {
    for index in 0..<KeyTable.shardCount {
      // Nobody else is there any more; the lock says so to tools that do not see references counted.
      shards[index].lock.lock()
      shards[index].run.free()
      shards[index].lock.unlock()
      shards[index].lock.destroy()
    }
    shards.deinitialize(count: KeyTable.shardCount)
    shards.deallocate()
  }

  @inline(__always)
  package func prefetch(_ hash: KeyHash) {
    vitrine_prefetch(
      withShard(hash.shard) { shard in
        shard.pointee.run.slots + shard.pointee.run.home(hash.urlTag)
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

  /// The first entry that the hash fits and `isMeant`. Under the shard's lock, and valid as long as nothing is entered or
  /// removed.
  @inline(__always)
  func slot(
    of hash: KeyHash, _ shard: UnsafeMutablePointer<Shard>, where isMeant: (KeySlot) -> Bool
  ) -> UnsafeMutablePointer<KeySlot>? {
    if let place = shard.pointee.run.place(from: hash.urlTag, hash, where: isMeant) {
      return shard.pointee.run.slots + place
    }
    return shard.pointee.crowds == nil ? nil : shard.pointee.crowds?.slot(of: hash, where: isMeant)
  }

  @inline(__always)
  func slot(
    of hash: KeyHash, _ location: Location, _ shard: UnsafeMutablePointer<Shard>
  ) -> UnsafeMutablePointer<KeySlot>? {
    slot(of: hash, shard) { $0.location == location }
  }

  /// Calls `body` with each entry of a shard, under its lock.
  func forEachSlot(_ shard: UnsafeMutablePointer<Shard>, _ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    shard.pointee.run.forEach(body)
    shard.pointee.crowds?.forEach(body)
  }

  // MARK: Looking up

  /// Calls `body` with the `skip`-th entry that the hash fits, under the shard's lock; nil when there is none. Counts
  /// a hit or a miss when `counts`, and then notes the use where it ``stampsAtOnce(_:isAsked:)``.
  @inline(__always)
  package func find<R>(
    _ hash: KeyHash, skip: Int = 0, counts: Bool, isAsked: Bool = false, _ body: (KeySlot) -> R
  ) -> R? {
    withShard(hash.shard) { shard in
      var left = skip
      let found = slot(of: hash, shard) { _ in
        left -= 1
        return left < 0
      }
      guard let found else {
        if counts { shard.pointee.misses &+= 1 }
        return nil
      }
      let slot = found.pointee
      if counts {
        shard.pointee.hits &+= 1
        if stampsAtOnce(slot, isAsked: isAsked) { found.pointee.stamp = clock.tick() }
      }
      return body(slot)
    }
  }

  /// Whether a counted lookup notes the use. Not where it `isAsked` for something that the entry may not be, nor where it
  /// hangs on the last use whether the entry has expired: then the use is noted once that is known.
  @inline(__always)
  package func stampsAtOnce(_ slot: KeySlot, isAsked: Bool) -> Bool {
    stampsHits && !isAsked && !slot.flags.contains(.expires)
  }

  /// Calls `body` with an entry under its shard's lock; nil when it is no longer there.
  package func withEntry<R>(_ hash: KeyHash, _ location: Location, _ body: (KeySlot) -> R) -> R? {
    withShard(hash.shard) { shard in slot(of: hash, location, shard).map { body($0.pointee) } }
  }

  /// Whether an entry is there.
  package func find(_ hash: KeyHash, _ location: Location) -> Bool {
    withShard(hash.shard) { shard in slot(of: hash, location, shard) != nil }
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
      forEachInRun(hash, shard) { body($0, $0.hash(shard: hash.shard)) }
      shard.pointee.crowds?.forEach(ofURL: hash) { body($0.pointee, $0.pointee.hash(shard: hash.shard)) }
    }
  }

  private func forEachInRun(_ hash: KeyHash, _ shard: UnsafeMutablePointer<Shard>, _ body: (KeySlot) -> Void) {
    let run = shard.pointee.run
    guard run.capacity > 0 else { return }
    var place = run.home(hash.urlTag)
    while !run.slots[place].isEmpty {
      if run.slots[place].urlTag == hash.urlTag { body(run.slots[place]) }
      place = run.next(place)
    }
  }

  /// The number of the last change of a crowded URL: an entry that was entered, replaced or moved. As long as it stays, the
  /// URL has no entry but those that it had. Nil for a URL that has few styles.
  package func lastChange(_ hash: KeyHash) -> UInt64? {
    withShard(hash.shard) { $0.pointee.crowds?.lastChange(hash) }
  }

  /// Entries of the URL whose styles have other tags than `tag`.
  package func styleCount(_ hash: KeyHash, without tag: UInt16) -> Int {
    withShard(hash.shard) { shard in
      var count = 0
      forEachInRun(hash, shard) { if $0.styleTag != tag { count += 1 } }
      guard let crowds = shard.pointee.crowds else { return count }
      return count + crowds.count(ofURL: hash) - crowds.count(KeyHash(url: hash.bits, styleTag: tag))
    }
  }

  /// Entries that a lookup of a key passes at most: what one costs.
  package func probeLength(_ hash: KeyHash) -> Int {
    withShard(hash.shard) { shard in
      shard.pointee.run.runLength(from: hash.urlTag) + (shard.pointee.crowds?.runLength(hash) ?? 0)
    }
  }

  // MARK: Changing

  /// Enters a key that is not there. False when memory is short.
  package func insert(_ slot: KeySlot, _ hash: KeyHash) -> Bool {
    withShard(hash.shard) { shard in insert(slot, shard) }
  }

  @inline(__always)
  private func insert(_ slot: KeySlot, _ shard: UnsafeMutablePointer<Shard>) -> Bool {
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
  private func noteChange(_ slot: KeySlot, _ shard: UnsafeMutablePointer<Shard>) {
    guard shard.pointee.crowds != nil else { return }
    shard.pointee.changes += 1
    shard.pointee.crowds?.noteChange(slot.hash(shard: 0), shard.pointee.changes)
  }

  /// Makes room for `count` more entries at once, instead of growing again and again on the way there. Room that cannot
  /// be had is asked for again by each insertion.
  package func reserve(_ count: Int) {
    for index in 0..<KeyTable.shardCount {
      withShard(index) { $0.pointee.run.reserve(count / KeyTable.shardCount * 33 / 32) }
    }
  }

  /// Fills an empty shard with `count` entries, as fast as memory goes when they come in the table's order. False when
  /// `next` gives none, or memory is short.
  package func fill(shard index: Int, count: Int, _ next: () -> KeySlot?) -> Bool {
    withShard(index) { shard in
      if count == 0 { return true }
      guard shard.pointee.count == 0, shard.pointee.run.grow(to: count * 105 / 100) else { return false }
      for _ in 0..<count {
        guard let slot = next(), !slot.isEmpty, insert(slot, shard) else { return false }
      }
      return true
    }
  }

  /// Points the entry at `location` somewhere else. False when it is not there.
  package func replace(_ hash: KeyHash, _ location: Location, with new: KeySlot) -> Bool {
    withShard(hash.shard) { shard in
      guard let found = slot(of: hash, location, shard) else { return false }
      found.pointee = new
      noteChange(new, shard)
      return true
    }
  }

  /// Points the entry at `location` to a copy of its record; its last use stays what it was. False when it is not there.
  package func move(_ hash: KeyHash, from location: Location, to copy: Location) -> Bool {
    withShard(hash.shard) { shard in
      guard let found = slot(of: hash, location, shard) else { return false }
      found.pointee.word0 = found.pointee.word0 & ~Location.mask | copy.bits
      noteChange(found.pointee, shard)
      return true
    }
  }

  /// Notes that the payload behind an entry was checked; does nothing when the entry has moved on.
  package func setChecked(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      slot(of: hash, location, shard)?.pointee.word0 |= KeySlot.Flags.checked.rawValue << 38
    }
  }

  /// False when the entry is not there.
  package func remove(_ hash: KeyHash, _ location: Location) -> Bool {
    withShard(hash.shard) { shard in
      if let place = shard.pointee.run.place(from: hash.urlTag, hash, where: { $0.location == location }) {
        shard.pointee.run.remove(at: place)
        return true
      }
      guard let crowds = shard.pointee.crowds, crowds.remove(hash, where: { $0.location == location }) else {
        return false
      }
      if crowds.isEmpty { shard.pointee.crowds = nil }
      return true
    }
  }

  /// Gives every entry another location and flags, where it stands. For a table that nobody reads yet.
  package func relocate(_ body: (_ slot: KeySlot, _ hash: KeyHash) -> (location: Location, flags: KeySlot.Flags)) {
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        forEachSlot(shard) { slot in
          let hash = slot.pointee.hash(shard: index)
          let (location, flags) = body(slot.pointee, hash)
          slot.pointee.word0 = KeySlot(hash, location, flags).word0
        }
      }
    }
  }

  /// Changes places with the entries of another table, which nobody else reads, one shard after another: a lookup finds
  /// a key as it is in the one or in the other. What was counted stays.
  package func exchange(with other: KeyTable) {
    for index in 0..<KeyTable.shardCount {
      let its = other.shards + index
      withShard(index) { mine in
        swap(&mine.pointee.run, &its.pointee.run)
        swap(&mine.pointee.crowds, &its.pointee.crowds)
        mine.pointee.changes += its.pointee.changes
      }
    }
    clock.set(other.clock.now)
  }

  package func removeAll() {
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        shard.pointee.run.free()
        shard.pointee.crowds = nil
      }
    }
  }

  // MARK: All of it

  /// A copy of the entries of one shard, in the table's order.
  package func copy(shard index: Int) -> [KeySlot] {
    withShard(index) { shard in
      var entries: [KeySlot] = []
      entries.reserveCapacity(shard.pointee.count)
      forEachSlot(shard) { entries.append($0.pointee) }
      return entries
    }
  }

  /// Calls `body` with each entry of one shard under its lock.
  package func forEach(shard index: Int, _ body: (KeySlot) -> Void) {
    withShard(index) { shard in forEachSlot(shard) { body($0.pointee) } }
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
