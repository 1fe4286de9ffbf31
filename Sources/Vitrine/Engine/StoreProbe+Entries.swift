/// Entries of the index and their records.
///
/// These operations take the lock of one table shard at a time and no lock of the store, so a hook of the disk or the
/// clock may call them. A value that they return is correct at the moment of the call only.
extension StoreProbe {
  // MARK: Hashes

  /// Returns the part of a key's hash that comes from the URL: the upper 48 bits, zeros below.
  package func urlHash(_ url: UnsafeRawBufferPointer) -> UInt64 { core.context.catalog.hasher.url(url) }

  /// Returns the hash under which the index has a payload with this digest.
  package func contentHash(of digest: Digest) -> ContentHash { core.context.catalog.hasher.content(digest) }

  // MARK: Entries

  /// An entry of the index, with the part of its hash that the index keeps.
  package struct IndexEntry: Sendable {
    package let hash: KeyHash
    package let slot: KeySlot
    package var location: Location { slot.location }
  }

  /// All entries of the index, by shard.
  package var entries: [IndexEntry] {
    (0..<KeyTable.shardCount).flatMap { shard in
      core.context.catalog.keys.copy(shard: shard).map { IndexEntry(hash: $0.hash(shard: shard), slot: $0) }
    }
  }

  /// Returns the first entry that the hash fits; nil if there is none. The call does not count as a use.
  package func slot(of hash: KeyHash) -> KeySlot? { core.context.catalog.keys.find(hash, counts: false) { $0 } }

  /// Returns the first entry that the hash of a key fits; nil if there is none. The call does not count as a use.
  package func slot(of key: CacheKey) -> KeySlot? { slot(of: hash(of: key)) }

  /// Returns all entries that the hash fits.
  package func slots(of hash: KeyHash) -> [KeySlot] {
    var (slots, passed) = ([KeySlot](), PassedEntries())
    while let slot = core.context.catalog.keys.find(hash, besides: passed, { $0 }) {
      slots.append(slot)
      passed.add(slot.location)
    }
    return slots
  }

  /// Returns the location of the first entry that the hash fits; nil if there is none.
  package func location(of hash: KeyHash) -> Location? { slot(of: hash)?.location }

  /// Returns the location of the first entry that the hash of a key fits; nil if there is none.
  package func location(of key: CacheKey) -> Location? { slot(of: key)?.location }

  /// Returns whether the index has an entry with this hash at this location.
  package func contains(_ hash: KeyHash, _ location: Location) -> Bool {
    core.context.catalog.keys.find(hash, location)
  }

  /// Looks up the hash of a key as a get does, without reading its record: counts a hit or a miss, and notes the use.
  package func lookUp(_ key: CacheKey) { _ = core.context.catalog.keys.find(hash(of: key), counts: true) { _ in } }

  // MARK: Styles

  /// Returns the number of entries of a URL that a new original may outdate.
  package func dependentStyleCount(of hash: KeyHash) -> Int { core.context.catalog.dependentStyles(of: hash).count }

  /// Returns the number of the last change of a crowded URL, as ``KeyTable/lastChange(_:)``.
  package func lastChange(of hash: KeyHash) -> UInt64? { core.context.catalog.keys.lastChange(hash) }

  // MARK: Records

  /// Returns the record at a location if it is valid; `checks` compares its checksum too.
  package func record(at location: Location, checks: Bool = true) -> RecordView? {
    core.context.catalog.record(at: location, checks: checks)
  }

  /// Returns the location of a reference's payload; nil if it is gone or damaged.
  package func payloadLocation(of header: RecordHeader) -> Location? {
    core.context.catalog.payloadLocation(of: header)
  }

  /// The locations of all payloads in the index, by shard.
  package var payloadLocations: [Location] {
    (0..<ContentTable.shardCount).flatMap { shard in
      core.context.catalog.contents.copy(shard: shard).map { ContentTable.location(ofWord: $0) }
    }
  }

  // MARK: Recency and expiry

  /// The stamp of the latest use.
  package var recencyCount: UInt64 { core.context.catalog.keys.clock.count }

  /// Returns whether a note of an expiry is due, at a wall time in milliseconds.
  package func isExpirationDue(at now: Int64) -> Bool { core.context.expirations.isDue(at: now) }

  /// The number of notes in the index of expiries.
  package var expirationCount: Int { core.context.expirations.count }
}
