import Testing

@testable import Vitrine

/// Two styles of one URL with one tag have one place in the index. An unreadable entry there may belong to either,
/// and every change removes it once.
@Suite struct EqualTagTests {
  private static let first = CacheKey("picture", Style("square-63")!)
  private static let second = CacheKey("picture", Style("square-320")!)
  private static let keys = [first, second]

  /// The unreadable heads.
  enum Struck: CaseIterable { case first, second, both }

  /// An open store with unreadable heads, and the index entries of its keys.
  private func damagedStore(_ struck: Struck, _ reads: ReadMode) throws -> (MemoryDisk, CacheStore) {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    #expect(Self.first.style.tag == Self.second.style.tag)
    for (number, key) in Self.keys.enumerated() { try store.put(noise(700, UInt64(number)), for: key) }
    try store.put(noise(300, 9), for: "other")
    let places = try self.places(store)
    try store.close()
    var image = disk.image
    for (number, place) in places.enumerated() where struck != .first || number == 0 {
      if struck == .second, number == 0 { continue }
      image[place.name]?[place.offset + 9] ^= 0xFF
    }
    let damaged = MemoryDisk(image)
    return (damaged, try TestWorld(fileSystem: damaged, seed: 7).open("store", StoreOptions(reads: reads)))
  }

  /// The places of the records of the two keys.
  private func places(_ store: CacheStore) throws -> [(name: String, offset: Int)] {
    let locations = slots(store).map(\.location)
    return try locations.sorted { $0.bits < $1.bits }.map { location in
      let segment = try #require(store.probe.segment(inSlot: location.slot))
      return ("segments/\(segment.fileName)", location.offset)
    }
  }

  private func slots(_ store: CacheStore) -> [KeySlot] { store.probe.slots(of: hash(store)) }

  private func hash(_ store: CacheStore) -> KeyHash { store.probe.hash(of: Self.first) }

  /// Expects that the store still takes changes, and that the next opening finds no damage in the log.
  private func expectItGoesOn(_ disk: MemoryDisk, _ store: CacheStore, _ expected: [CacheKey: [UInt8]]) throws {
    try store.requireWell()
    try store.put(noise(200, 20), for: "later")
    store.abandon()
    let again = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 8).open("store")
    let opening = again.statistics().lastOpen
    #expect(!opening.mayHaveLostRemovals && opening.notes.isEmpty, "\(opening.notes)")
    for key in Self.keys + [CacheKey("other")] { #expect(again.bytes(key) == expected[key]) }
    #expect(again["later"] == noise(200, 20))
    try again.close()
  }

  private static let other = [CacheKey("other"): noise(300, 9)]

  @Test(arguments: Struck.allCases, [ReadMode.mapped, .copied])
  func batchOfPutsRemovesAnUnreadableEntryOnce(_ struck: Struck, _ reads: ReadMode) throws {
    let (disk, store) = try damagedStore(struck, reads)
    try store.putMany(
      Self.keys.enumerated().map { (key: $1, bytes: noise(500, UInt64(30 + $0)), options: PutOptions()) })
    try expectItGoesOn(
      disk, store, Self.other.merging([Self.first: noise(500, 30), Self.second: noise(500, 31)]) { $1 })
  }

  @Test(arguments: Struck.allCases, [ReadMode.mapped, .copied])
  func batchOfRemovalsRemovesAnUnreadableEntryOnce(_ struck: Struck, _ reads: ReadMode) throws {
    let (disk, store) = try damagedStore(struck, reads)
    #expect(try store.removeMany(Self.keys) == (struck == .both ? 0 : 1))
    try expectItGoesOn(disk, store, Self.other)
  }

  @Test(arguments: Struck.allCases)
  func removalOfAllStylesRemovesUnreadableEntries(_ struck: Struck) throws {
    let (disk, store) = try damagedStore(struck, .mapped)
    #expect(try store.removeAllStyles(bytes: Self.first.url) == (struck == .both ? 0 : 1))
    try expectItGoesOn(disk, store, Self.other)
  }

  /// The batch replaces the original too, which removes the styles made from the old one.
  @Test func newOriginalRemovesAnUnreadableEntryOnce() throws {
    let (disk, store) = try damagedStore(.first, .mapped)
    var batch = WriteBatch()
    batch.put(noise(600, 40), for: CacheKey(bytes: Self.first.url, .original))
    for (number, key) in Self.keys.enumerated() { batch.put(noise(500, UInt64(30 + number)), for: key) }
    try store.write(batch)
    try expectItGoesOn(
      disk, store, Self.other.merging([Self.first: noise(500, 30), Self.second: noise(500, 31)]) { $1 })
  }

  /// Entries with one hash may have equal stamps.
  @Test func entriesWithEqualHashAndStampAreEvictedOnceEach() throws {
    let (disk, store) = try damagedStore(.first, .mapped)
    let hash = hash(store)
    let slots = slots(store)
    #expect(slots.count == 2)
    for slot in slots { #expect(store.probe.plantStamp(5, hash, slot.location)) }
    #expect(try store.probe.evict(byteCount: .max, count: 3) == 3)
    #expect(store.count == 0)
    try expectItGoesOn(disk, store, [:])
  }

  /// A get of either key is a use of its own entry alone, by order and by count.
  @Test(arguments: [EvictionPolicy.lru, .s3fifo]) func getIsNoUseOfTheOtherEntry(_ policy: EvictionPolicy) throws {
    let options = StoreOptions(policy: policy)
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", options)
    for (number, key) in Self.keys.enumerated() { try store.put(noise(700, UInt64(number)), for: key) }
    let other = CacheKey("other")
    let compressible = [UInt8](repeating: 7, count: 3000)
    try store.put(compressible, for: other)
    #expect(store.bytes(Self.second) == noise(700, 1))
    #expect(try store.keysByRecency() == [Self.second, other, Self.first])
    #expect(store.bytes(Self.first) == noise(700, 0))
    #expect(try store.keysByRecency() == [Self.first, Self.second, other])
    // A get that names another source, and two of a key that is gone.
    #expect(store.bytes("picture", style: Style("square-320")!, source: Source([1])!) == nil)
    try store.remove(Self.second)
    #expect(store.bytes(Self.second) == nil)
    #expect(store.bytes(other) == compressible)
    #expect(store.bytes(Self.second) == nil)
    #expect(try store.keysByRecency() == [other, Self.first])
    if policy == .s3fifo { #expect(slots(store).map(\.uses) == [1]) }
    try store.close()
  }

  /// A sweep that finds an entry twice, because the table moved meanwhile, removes it once.
  @Test func twiceNamedExpiredEntryIsRemovedOnce() throws {
    let (disk, store) = try damagedStore(.first, .mapped)
    let hash = hash(store)
    var names: [RecordName] = []
    for location in slots(store).map(\.location) {
      guard let header = store.probe.record(at: location)?.header else { continue }
      names.append(RecordName(hash: hash, location: location, sequence: header.sequence))
    }
    #expect(names.count == 1)
    #expect(try store.probe.steps.tryToRemove(names + names) == 1)
    try expectItGoesOn(disk, store, Self.other)
  }

  /// A frame that replay could not follow is refused, and no part of it is written.
  @Test func frameThatNamesAnEntryTwiceIsRefused() throws {
    let (disk, store) = try damagedStore(.first, .mapped)
    let hash = hash(store)
    let location = try #require(store.probe.location(of: hash))
    let removal = Change.remove(hash, store.probe.displaced(at: location))
    let elsewhere = Change.remove(
      hash, store.probe.displaced(at: Location(slot: location.slot, offset: 1 << 16)))
    for changes in [[removal, removal], [elsewhere], Array(repeating: removal, count: 20)] {
      let before = store.probe.wal.appendedSequence
      #expect(storeError { _ = try store.probe.record(changes) } != nil)
      #expect(store.probe.wal.appendedSequence == before && store.probe.contains(hash, location))
    }
    #expect(try store.probe.record([removal]))
    try store.requireWell()
    store.abandon()
    _ = disk
  }
}
