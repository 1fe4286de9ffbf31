/// When entries were last used, by the table's clock.
extension KeyTable {
  /// Notes a use; does nothing when the entry has moved on.
  package func touch(_ hash: KeyHash, _ location: Location) {
    withShard(hash.shard) { shard in
      if let place = placeOf(hash, location, shard) { shard.pointee.slots[place].stamp = clock.tick() }
    }
  }

  /// Where the entry's record lies that was used last when the clock gave `stamp`; nil when it was used since, or has
  /// gone.
  package func location(of hash: KeyHash, stamp: UInt32) -> Location? {
    withShard(hash.shard) { shard in
      placeOf(hash, shard) { $0.stamp == stamp }.map { shard.pointee.slots[$0].location }
    }
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
    withShard(hash.shard) { shard in
      guard let place = placeOf(hash, shard, where: { $0.stamp == stamp }) else { return }
      shard.pointee.slots[place].stamp = new
    }
  }
}
