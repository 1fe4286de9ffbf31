/// The keys that were used lately, for a read-only opening, which tells the writer about them.
///
/// Each shard remembers as many keys as it has places, one for each value of some bits of the hash: a newer key takes
/// the place of an older one. A get writes to it under the lock of its shard, which it holds anyway.
extension KeyTable {
  /// Begins to remember up to `count` keys, a multiple of ``shardCount``. Call it before the table serves.
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

  /// Returns the remembered keys and forgets them. 0 stands for no key.
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

  /// Under the lock of the key's shard.
  @inline(__always)
  func noteUsed(_ hash: KeyHash, _ shard: UnsafeMutablePointer<Shard>) {
    if rememberedCount == 0 { return }
    let place = Int((hash.bits ^ hash.bits >> 26) % UInt64(rememberedCount))
    shard.pointee.used?[place] = hash.bits
  }

  /// Notes a use of the entry that the hash fits, if there is one. The stamp of an entry with an expiry stays, because
  /// it may decide whether the entry has expired.
  func touch(_ hash: KeyHash) {
    withShard(hash.shard) { shard in
      guard let found = slot(of: hash, shard, where: { _ in true }) else { return }
      if stampsAtOnce(found.pointee, isAsked: false) { found.pointee.stamp = clock.tick() }
      if countsUses { found.pointee.addUse() }
    }
  }
}
