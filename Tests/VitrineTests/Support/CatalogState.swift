@testable import Vitrine

/// The content of an index, independent of the slots of its segments: two views of one store must be equal.
struct CatalogState: Equatable {
  struct Place: Hashable {
    let segment: UInt64
    let offset: Int
  }

  struct Key: Hashable {
    let hash: KeyHash
    let place: Place
    /// Without the uses, which each process counts for itself.
    let flags: UInt64
  }

  struct Payload: Hashable {
    let hash: ContentHash
    let place: Place
    /// Keys that use it.
    let count: Int
  }

  struct Account: Hashable {
    let segment: UInt64
    let stream: StreamKind
    let liveUnits: Int
    let liveCount: Int
  }

  private(set) var keys: Set<Key> = []
  private(set) var payloads: Set<Payload> = []
  private(set) var accounts: Set<Account> = []
  private(set) var counts: [Int] = []
  /// Duplicate entries, and locations in missing segments.
  private(set) var faults = 0

  init(_ index: borrowing CatalogWriter) {
    let catalog = index.catalog
    func place(_ location: Location) -> Place {
      if catalog.segments.segment(location.slot) == nil { faults += 1 }
      return Place(segment: catalog.segments.id(location.slot), offset: location.offset)
    }
    for shard in 0..<KeyTable.shardCount {
      for slot in catalog.keys.copy(shard: shard) {
        let key = Key(
          hash: slot.hash(shard: shard), place: place(slot.location),
          flags: slot.flags.intersection([.reference, .expires]).rawValue)
        if !keys.insert(key).inserted { faults += 1 }
      }
      var words: [UInt64] = []
      catalog.contents.forEach(shard: shard) { words.append($0) }
      for word in words {
        let (hash, location) = (ContentTable.hash(ofWord: word, shard: shard), ContentTable.location(ofWord: word))
        let count = catalog.contents.count(hash, location)
        if !payloads.insert(Payload(hash: hash, place: place(location), count: count)).inserted { faults += 1 }
      }
    }
    for case let segment? in index.segments.all {
      let account = index.segments[segment]
      if account.state == .retired { continue }
      accounts.insert(
        Account(
          segment: segment.id, stream: account.stream, liveUnits: account.live.units, liveCount: account.live.count))
    }
    counts = [
      index.keyCount, index.blobCount, index.logicalByteCount, index.liveByteCount,
      catalog.contents.largeCounts.count,
    ]
  }

  /// The differences, short enough for a message.
  func differences(from other: CatalogState) -> String {
    func list<T: Hashable>(_ mine: Set<T>, _ its: Set<T>) -> String {
      "+\(mine.subtracting(its).prefix(3)) -\(its.subtracting(mine).prefix(3))"
    }
    return """
      keys \(list(keys, other.keys)); payloads \(list(payloads, other.payloads)); \
      accounts \(list(accounts, other.accounts)); \(counts) \(other.counts); \(faults) \(other.faults) faults
      """
  }
}
