/// Eviction in the order of the stamps: by last use, or by put.
///
/// No order is maintained. The oldest entries are found by a selection over all stamps: one pass for the range of
/// the ages, one for their distribution, one to collect. Each pass reads 16 bytes of memory for each entry of the
/// store. A selection yields a 64th of the entries, so its cost for each of them is small.
enum StampOrder {
  private static let bucketCount = 1 << 12
  private static let mostOfStyle = 1 << 12

  /// Returns at least `count` entries, the oldest first; fewer if the store has fewer. With a tag, entries of that
  /// style alone. Leaves out pinned entries. The caller skips entries that were used after the selection. O(entries).
  static func next(_ count: Int, ofStyle tag: UInt16? = nil, in keys: KeyTable) -> [Victim] {
    let now = keys.clock.now
    var entries = 0
    var oldest: UInt32 = 0
    forEach(keys, tag) { slot, _ in
      entries += 1
      oldest = max(oldest, RecencyClock.age(of: slot.stamp, at: now))
    }
    if entries == 0 { return [] }
    // A pass over the table costs the same for a style with few entries, so it collects more of them.
    let wanted = min(entries, max(count, entries / 64, tag == nil ? 0 : StampOrder.mostOfStyle))
    let width = oldest / UInt32(StampOrder.bucketCount) + 1
    var buckets = [Int](repeating: 0, count: StampOrder.bucketCount)
    forEach(keys, tag) { slot, _ in
      let bucket = Int(RecencyClock.age(of: slot.stamp, at: now) / width)
      // Entries put meanwhile are young.
      buckets[min(bucket, StampOrder.bucketCount - 1)] += 1
    }
    var least = StampOrder.bucketCount
    var found = 0
    while least > 0, found < wanted {
      least -= 1
      found += buckets[least]
    }
    let youngest = UInt32(least) * width
    var victims: [(age: UInt32, victim: Victim)] = []
    victims.reserveCapacity(found)
    forEach(keys, tag) { slot, shard in
      let age = RecencyClock.age(of: slot.stamp, at: now)
      guard age >= youngest else { return }
      victims.append((age, Victim(hash: slot.hash(shard: shard), stamp: slot.stamp, location: slot.location)))
    }
    victims.sort { $0.age > $1.age }
    return victims.map(\.victim)
  }

  private static func forEach(_ keys: KeyTable, _ tag: UInt16?, _ body: (KeySlot, Int) -> Void) {
    for shard in 0..<KeyTable.shardCount {
      keys.forEach(shard: shard) { slot in
        if slot.flags.contains(.pinned) { return }
        if tag == nil || slot.styleTag == tag { body(slot, shard) }
      }
    }
  }
}

/// An entry chosen for eviction, as it was found. By the order of the stamps, it is evicted only while it keeps its
/// stamp, even if its record was moved. By segments, it is evicted only while it keeps its location.
struct Victim: Sendable {
  let hash: KeyHash
  let stamp: UInt32
  let location: Location
}
