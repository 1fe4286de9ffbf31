import CVitrineSystem

/// Maps digests to payloads: 8 bytes an entry (location 38 bits, count of keys 2, tag 24), in 64 shards built as in
/// ``KeyTable``.
///
/// The two bits count 1, 2 or 3 keys. A count of 0 there means 4 or more, kept in a separate table: shared payloads
/// are rare, and widely shared ones few. A tag match is a candidate only: the caller reads the record at the
/// location to decide.
///
/// Readers use ``candidates(_:_:)``; a ``ContentTableWriter`` makes every change.
///
package final class ContentTable: Sendable {
  package static let shardCount = 64

  struct Shard {
    var slots = UnsafeMutablePointer<UInt64>(bitPattern: 16)!
    var memory: PageMemory?
    var capacity = 0
    var count = 0
    /// See ``SlotArray/growth(shard:)``.
    let growth: Int
  }

  typealias Held = LockedShards<Shard>.Held

  private let shards = LockedShards(ContentTable.shardCount) { Shard(growth: SlotArray.growth(shard: $0)) }
  /// Counts of 4 and more.
  let large = Guarded<[Location: Int]>([:])

  /// The blobs that 4 or more keys use, with the number of their keys.
  package var largeCounts: [Location: Int] { large.withLock { $0 } }
  /// The number of such blobs.
  package var largeCountCount: Int { large.withLock { $0.count } }

  package init() {}

  deinit { shards.free { $0.pointee.memory?.free() } }

  @inline(__always)
  static func home(_ tag: UInt64, _ capacity: Int) -> Int {
    Int(truncatingIfNeeded: (tag &* UInt64(capacity)) >> 24)
  }
  @inline(__always) static func tag(_ word: UInt64) -> UInt64 { word >> 40 }
  @inline(__always) private static func location(_ word: UInt64) -> Location { Location(bits: word & Location.mask) }

  @inline(__always)
  package func prefetch(_ hash: ContentHash) {
    vitrine_prefetch(
      withShard(hash.shard) { shard in
        shard.pointee.slots + ContentTable.home(hash.tag, shard.pointee.capacity)
      })
  }

  /// Calls `body` with a shard under its lock.
  @inline(__always)
  func withShard<R>(_ index: Int, _ body: (borrowing Held) -> R) -> R { shards.withLock(index, body) }

  /// As ``LockedShards/passLocks()``.
  func passLocks() { shards.passLocks() }

  /// Calls `body` under the shard's lock with the location of each blob that the hash fits, until it returns false.
  @inline(__always)
  package func candidates(_ hash: ContentHash, _ body: (Location) -> Bool) {
    withShard(hash.shard) { shard in
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
  }

  func placeOf(_ hash: ContentHash, _ location: Location, _ shard: borrowing Held) -> Int? {
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
    withShard(hash.shard) { shard in placeOf(hash, location, shard) != nil }
  }

  /// Returns the number of keys that use the blob at `location`, 0 if the table does not have it.
  package func count(_ hash: ContentHash, _ location: Location) -> Int {
    withShard(hash.shard) { shard in userCount(hash, location, shard) ?? 0 }
  }

  func largeCount(_ location: Location) -> Int { large.withLock { $0[location] ?? 4 } }

  /// Calls `body` with the word of each entry of a shard (hash as far as it is kept, location, count bits), under
  /// its lock.
  package func forEach(shard index: Int, _ body: (UInt64) -> Void) {
    withShard(index) { shard in
      for place in 0..<shard.pointee.capacity where shard.pointee.slots[place] != 0 { body(shard.pointee.slots[place]) }
    }
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

  /// Returns the word of an entry; ``largeCounts`` has a count above 3.
  static func word(_ hash: ContentHash, _ location: Location, count: Int) -> UInt64 {
    location.bits | UInt64(count > 3 ? 0 : count) << 38 | hash.tag << 40
  }

  package static func location(ofWord word: UInt64) -> Location { location(word) }
  package static func hasLargeCount(_ word: UInt64) -> Bool { word >> 38 & 3 == 0 }

  package func count(shard index: Int) -> Int {
    withShard(index) { $0.pointee.count }
  }
}
