import CVitrineSystem

/// The stamps of the entries: when each was last used.
extension KeyTable {
  /// Notes a use; does nothing if the entry was moved or removed.
  package func touch(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      guard let found = slot(of: hash, location, shard) else { return }
      found.pointee.stamp = clock.tick()
      if countsUses { found.pointee.addUse() }
      noteUsed(hash, shard)
    }
  }

  /// Undoes the use that a counted lookup has noted by `stamp`, because the entry turned out to be another key's.
  /// `found` is the entry before that use. Does nothing if the entry was moved or removed. The stamp of a later use
  /// stays.
  func takeBackUse(_ hash: KeyHash, _ found: KeySlot, stamp: UInt32) {
    withShard(hash.shard) { shard in
      guard let slot = slot(of: hash, found.location, shard) else { return }
      // Old stamps may have been lifted meanwhile.
      if slot.pointee.stamp == stamp, clock.now &- found.stamp < 1 << 30 { slot.pointee.stamp = found.stamp }
      if countsUses, found.uses < 3 { slot.pointee.uses = max(0, slot.pointee.uses - 1) }
    }
  }

  /// Returns the location of the entry that was last used at `stamp`; nil if it was used since, or removed.
  package func location(of hash: KeyHash, stamp: UInt32) -> Location? {
    withShard(hash.shard) { shard in slot(of: hash, shard) { $0.stamp == stamp }?.pointee.location }
  }

  /// Gives younger stamps to the entries that were not used for the last 2^31 stamps, so that no age overflows. Their
  /// order stays. Returns the mapping for the clock's readings. The caller lifts the readings after the entries: until
  /// then, an entry seems used later than it was, never earlier. A checkpoint written meanwhile may have such entries
  /// in a wrong order. Two passes over the entries, 320 KiB of memory. Calls must not overlap.
  @discardableResult
  package func liftOldStamps() -> LiftedStamps {
    var lifted = LiftedStamps(now: clock.now)
    for index in 0..<KeyTable.shardCount { forEach(shard: index) { lifted.note($0.stamp) } }
    lifted.layOut()
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in forEachSlot(shard) { $0.pointee.stamp = lifted.stamp(of: $0.pointee.stamp) } }
    }
    return lifted
  }
}

/// The recently used keys of a read-only opening, for the writer.
///
/// Each shard has a fixed number of places for hashes of keys. The hash selects the place, and a newer key replaces an
/// older one there. A get stores the hash under the lock of the shard, which it holds anyway.
extension KeyTable {
  /// Begins to remember up to `count` used keys. `count` is a multiple of ``shardCount``. Call it before the table
  /// serves.
  func rememberUses(_ count: Int) {
    precondition(count > 0 && count % KeyTable.shardCount == 0 && rememberedCount == 0)
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        let used = UnsafeMutablePointer<UInt64>.allocate(capacity: count / KeyTable.shardCount)
        used.initialize(repeating: 0, count: count / KeyTable.shardCount)
        shard.pointee.used = used
      }
    }
    rememberedCount = count / KeyTable.shardCount
  }

  /// Returns the hashes of the remembered keys, in the order of their places, and forgets them. 0 stands for no key.
  func takeUsed() -> [UInt64] {
    var taken: [UInt64] = []
    taken.reserveCapacity(rememberedCount * KeyTable.shardCount)
    for index in 0..<KeyTable.shardCount {
      withShard(index) { shard in
        guard let used = shard.pointee.used else { return }
        taken.append(contentsOf: UnsafeBufferPointer(start: used, count: rememberedCount))
        used.update(repeating: 0, count: rememberedCount)
      }
    }
    return taken
  }

  /// Remembers a used key.
  @inline(__always)
  func noteUsed(_ hash: KeyHash, _ shard: borrowing Held) {
    if rememberedCount == 0 { return }
    let place = Int((hash.bits ^ hash.bits >> 26) % UInt64(rememberedCount))
    shard.pointee.used?[place] = hash.bits
  }

  /// Notes a use of the entry that the hash fits, if there is one. Its stamp stays if the table does not stamp hits, or
  /// if the entry has an expiry, because the stamp may decide whether the entry has expired.
  func touch(_ hash: KeyHash) {
    withShard(hash.shard) { shard in
      guard let found = slot(of: hash, shard, where: { _ in true }) else { return }
      if stampsAtOnce(found.pointee, isAsked: false) { found.pointee.stamp = clock.tick() }
      if countsUses { found.pointee.addUse() }
    }
  }
}

/// The last uses of entries, for the file of uses.
extension KeyTable {
  /// Returns the uses in a shard whose stamps lie after `earlier`, as of the clock's reading `count`. A table that
  /// counts uses leaves out entries that were put and not used since.
  func uses(shard index: Int, after earlier: UInt64, at count: UInt64) -> [KeyUse] {
    var uses: [KeyUse] = []
    forEach(shard: index) { slot in
      if countsUses, slot.uses == 0 { return }
      let stamp = RecencyClock.count(of: slot.stamp, at: count)
      if stamp > earlier { uses.append(KeyUse(slot.hash(shard: index), uses: slot.uses, stamp: stamp)) }
    }
    return uses
  }

  /// Returns the last use of an entry that the hash fits; nil if there is none.
  func use(of hash: KeyHash, at count: UInt64) -> KeyUse? {
    withShard(hash.shard) { shard in
      slot(of: hash, shard) { _ in true }.map { slot in
        KeyUse(hash, uses: slot.pointee.uses, stamp: RecencyClock.count(of: slot.pointee.stamp, at: count))
      }
    }
  }

  /// Gives each entry that a use fits the stamp and the uses of that use, unless it was used or put later.
  /// - Parameters:
  ///   - index: The shard of all uses.
  func note(_ uses: [KeyUse], shard index: Int) {
    let count = clock.count
    withShard(index) { shard in
      for place in uses.indices {
        let ahead = place + KeyTable.usesAhead
        if ahead < uses.count {
          vitrine_prefetch(shard.pointee.run.slots + shard.pointee.run.home(uses[ahead].hash.urlTag))
        }
        let use = uses[place]
        guard use.stamp <= count, count - use.stamp <= RecencyClock.oldestKept,
          let slot = slot(of: use.hash, shard, where: { _ in true }),
          use.stamp > RecencyClock.count(of: slot.pointee.stamp, at: count)
        else { continue }
        slot.pointee.stamp = UInt32(truncatingIfNeeded: use.stamp)
        slot.pointee.uses = use.uses
      }
    }
  }

  /// How many uses before its turn the slot of a use is fetched into the processor's cache.
  private static let usesAhead = 8
}

extension RecencyClock {
  /// Returns the reading of the clock at which a stamp was given, as of the reading `count`.
  @inline(__always)
  static func count(of stamp: UInt32, at count: UInt64) -> UInt64 {
    count - min(count, UInt64(age(of: stamp, at: UInt32(truncatingIfNeeded: count))))
  }
}

/// Younger stamps for old ones. Ages above `limit` are counted in ranges of 2^15; empty ranges are left out. The
/// order of the entries stays. If more than a quarter of the ranges have entries, stamps within 2 or 4 of each
/// other may become equal. Lifted ages are below `limit` + 2^29 + 2, so 2^30 more stamps leave them below
/// ``RecencyClock/oldestAge``.
package struct LiftedStamps {
  static let limit: UInt32 = 1 << 31
  private static let rangeBits: UInt32 = 15
  private static let rangeCount = 1 << 16
  private static let mostLifted = 1 << 29

  private let now: UInt32
  private var isTaken = [Bool](repeating: false, count: rangeCount)
  /// For each range, the age above `limit` at which it begins.
  private var starts: [UInt32] = []
  /// The number of bits by which an age within its range is shortened.
  private var shift: UInt32 = 0

  init(now: UInt32) { self.now = now }

  /// Returns by how much an age exceeds the limit; nil if it does not.
  @inline(__always)
  private func excess(of stamp: UInt32) -> UInt32? {
    let age = RecencyClock.age(of: stamp, at: now)
    return age > LiftedStamps.limit ? age &- LiftedStamps.limit &- 1 : nil
  }

  mutating func note(_ stamp: UInt32) {
    if let excess = excess(of: stamp) { isTaken[Int(excess >> LiftedStamps.rangeBits)] = true }
  }

  mutating func layOut() {
    let taken = isTaken.count { $0 }
    while (taken << LiftedStamps.rangeBits) >> shift > LiftedStamps.mostLifted { shift += 1 }
    var start: UInt32 = 0
    starts = isTaken.map { isTaken in
      defer { if isTaken { start += 1 << (LiftedStamps.rangeBits - shift) } }
      return start
    }
  }

  /// Returns the lifted stamp of an entry.
  func stamp(of stamp: UInt32) -> UInt32 { lifted(stamp, roundsUp: false) }

  /// Returns the lifted stamp of a reading. An entry used after the reading never becomes one used before it.
  func reading(_ stamp: UInt32) -> UInt32 { lifted(stamp, roundsUp: true) }

  @inline(__always)
  private func lifted(_ stamp: UInt32, roundsUp: Bool) -> UInt32 {
    guard let excess = excess(of: stamp) else { return stamp }
    let range = Int(excess >> LiftedStamps.rangeBits)
    let within = isTaken[range] ? excess & (1 << LiftedStamps.rangeBits - 1) : 0
    let short = (within + (roundsUp ? 1 << shift - 1 : 0)) >> shift
    return now &- LiftedStamps.limit &- 1 &- starts[range] &- short
  }
}
