import CVitrineSystem

/// Maps keys to records: open addressing in 64 shards (``SlotArray``), each behind its own lock.
///
/// The place of an entry comes from the URL's hash alone, so the styles of a URL are one run of the table. A URL keeps
/// the styles beyond 32 in a table of its own (``CrowdedURLs``).
///
/// Readers and writers lock a shard for as long as a probe takes. The closures run under that lock: they must not
/// call the table.
///
/// Invariant: settings change only before the table serves. ``LockedShards`` guards the entries, and the clock has a
/// lock of its own.
package final class KeyTable: @unchecked Sendable {
  package static let shardCount = 64

  struct Shard {
    var run: SlotArray
    /// The entries of crowded URLs; nil if there are none.
    var crowds: CrowdedURLs?
    /// Counts changes of entries of crowded URLs.
    var changes: UInt64 = 0
    var hits = 0
    var misses = 0
    /// Hashes of recently used keys; nil if the table does not remember them.
    var used: UnsafeMutablePointer<UInt64>?

    init(index: Int) { run = SlotArray(order: .url, growth: SlotArray.growth(shard: index)) }

    var count: Int { run.count + (crowds?.count ?? 0) }
  }

  typealias Held = LockedShards<Shard>.Held

  private let shards = LockedShards(KeyTable.shardCount) { Shard(index: $0) }
  package let clock = RecencyClock()
  /// Whether a counted lookup of an entry without an expiry is a use. Only ``KeyTableWriter`` sets it.
  @exclusivity(unchecked) private(set) var stampsHits = true
  /// Whether uses are counted too. Only ``KeyTableWriter`` sets it.
  @exclusivity(unchecked) private(set) var countsUses = false
  /// The number of used keys that each shard remembers. Set before the table serves.
  @exclusivity(unchecked) var rememberedCount = 0

  package init() {}

  deinit {
    shards.free { shard in
      shard.pointee.run.free()
      shard.pointee.used?.deallocate()
    }
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
  func withShard<R>(_ index: Int, _ body: (borrowing Held) -> R) -> R { shards.withLock(index, body) }

  /// As ``LockedShards/passLocks()``.
  func passLocks() { shards.passLocks() }

  /// Returns the first entry that the hash fits and `isMeant` accepts. The pointer is valid until the lock is released,
  /// or an entry is inserted or removed.
  @inline(__always)
  func slot(
    of hash: KeyHash, _ shard: borrowing Held, where isMeant: (KeySlot) -> Bool
  ) -> UnsafeMutablePointer<KeySlot>? {
    if let place = shard.pointee.run.position(from: hash.urlTag, hash, where: isMeant) {
      return shard.pointee.run.slots + place
    }
    return shard.pointee.crowds == nil ? nil : shard.pointee.crowds?.slot(of: hash, where: isMeant)
  }

  @inline(__always)
  func slot(
    of hash: KeyHash, _ location: Location, _ shard: borrowing Held
  ) -> UnsafeMutablePointer<KeySlot>? {
    slot(of: hash, shard) { $0.location == location }
  }

  /// Calls `body` with each entry of a shard.
  func forEachSlot(_ shard: borrowing Held, _ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    shard.pointee.run.forEach(body)
    shard.pointee.crowds?.forEach(body)
  }

  func configure(stampsHits: Bool, countsUses: Bool) {
    self.stampsHits = stampsHits
    self.countsUses = countsUses
  }

  // MARK: Looking up

  /// Calls `body` with the first entry that the hash fits, under the shard's lock; nil if there is none. With `counts`,
  /// counts a hit or a miss, and notes the use if ``stampsAtOnce(_:isAsked:)``.
  @inline(__always)
  package func find<R>(_ hash: KeyHash, counts: Bool, isAsked: Bool = false, _ body: (KeySlot) -> R) -> R? {
    find(hash, style: nil, counts: counts, isAsked: isAsked) { slot, _ in body(slot) }
  }

  /// Like ``find(_:counts:isAsked:_:)``, but skips entries of crowded URLs whose mark excludes `style`. `body` gets the
  /// slot as it was before the lookup, and the stamp after it.
  @inline(__always)
  func find<R>(
    _ hash: KeyHash, style: UnsafeRawBufferPointer?, counts: Bool, isAsked: Bool,
    _ body: (_ slot: KeySlot, _ stamp: UInt32) -> R
  ) -> R? {
    withShard(hash.shard) { shard in
      guard let found = firstSlot(of: hash, style, shard) else {
        if counts { shard.pointee.misses &+= 1 }
        return nil
      }
      let slot = found.pointee
      if counts {
        shard.pointee.hits &+= 1
        if stampsAtOnce(slot, isAsked: isAsked) {
          found.pointee.stamp = clock.tick()
          if countsUses { found.pointee.addUse() }
          noteUsed(hash, shard)
        }
      }
      return body(slot, found.pointee.stamp)
    }
  }

  @inline(__always)
  private func firstSlot(
    of hash: KeyHash, _ style: UnsafeRawBufferPointer?, _ shard: borrowing Held
  ) -> UnsafeMutablePointer<KeySlot>? {
    if let place = shard.pointee.run.position(from: hash.urlTag, hash, where: { _ in true }) {
      return shard.pointee.run.slots + place
    }
    return shard.pointee.crowds == nil ? nil : firstInCrowd(hash, style, shard)
  }

  /// Calls `body` with the first entry that the hash fits and that was not passed, under the shard's lock; nil if there
  /// is none.
  func find<R>(_ hash: KeyHash, besides passed: PassedEntries, _ body: (KeySlot) -> R) -> R? {
    withShard(hash.shard) { shard in
      slot(of: hash, shard) { !passed.contains($0.location) }.map { body($0.pointee) }
    }
  }

  /// Returns whether a counted lookup notes the use. A lookup with a condition (`isAsked`) does not, since the
  /// entry may not meet it. An entry with an expiry does not either, since its last use may decide whether it has
  /// expired: the caller notes the use later.
  @inline(__always)
  package func stampsAtOnce(_ slot: KeySlot, isAsked: Bool) -> Bool {
    stampsHits && !isAsked && !slot.flags.contains(.expires)
  }

  /// Calls `body` with an entry under its shard's lock; nil if it was moved or removed.
  package func withEntry<R>(_ hash: KeyHash, _ location: Location, _ body: (KeySlot) -> R) -> R? {
    withShard(hash.shard) { shard in slot(of: hash, location, shard).map { body($0.pointee) } }
  }

  /// Whether an entry that the hash fits is pinned.
  func hasPinned(_ hash: KeyHash) -> Bool {
    withShard(hash.shard) { shard in slot(of: hash, shard) { $0.flags.contains(.pinned) } != nil }
  }

  /// Returns the location of an entry that the hash fits.
  func location(of hash: KeyHash) -> Location? {
    withShard(hash.shard) { shard in slot(of: hash, shard) { _ in true }?.pointee.location }
  }

  /// Sets the uses of an entry; does nothing if the entry was moved or removed.
  func set(uses: Int, _ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in slot(of: hash, location, shard)?.pointee.uses = uses }
  }

  /// Returns whether the table has the entry.
  package func find(_ hash: KeyHash, _ location: Location) -> Bool {
    withShard(hash.shard) { shard in slot(of: hash, location, shard) != nil }
  }

  /// Corrects the counts after a lookup that counted a hit but found another key, or a value that could not be
  /// returned.
  package func correctHitToMiss(_ hash: KeyHash) {
    withShard(hash.shard) { shard in
      shard.pointee.hits &-= 1
      shard.pointee.misses &+= 1
    }
  }

  /// The most entries that a lookup of a key passes: its cost.
  package func probeLength(_ hash: KeyHash) -> Int {
    withShard(hash.shard) { shard in
      shard.pointee.run.runLength(from: hash.urlTag) + (shard.pointee.crowds?.runLength(hash) ?? 0)
    }
  }

  // MARK: Notes

  /// Notes that the payload of an entry was checked. Does nothing if the entry was moved or removed.
  package func setChecked(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      slot(of: hash, location, shard)?.pointee.word0 |= KeySlot.Flags.checked.rawValue << 38
    }
  }

  /// Notes the mark of an entry's style; does nothing if the entry was moved or removed.
  func set(styleMark: UInt64, _ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in slot(of: hash, location, shard)?.pointee.styleMark = styleMark }
  }

  /// Notes that no original outdates an entry; does nothing if the entry was moved or removed.
  package func setIndependent(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      slot(of: hash, location, shard)?.pointee.word0 |= KeySlot.Flags.independent.rawValue << 38
    }
  }

  // MARK: Whole shards

  /// Returns a copy of the entries of one shard, in the table's order.
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

  /// The hits and misses counted so far.
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
