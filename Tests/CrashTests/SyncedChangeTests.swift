import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// For every kind of write: a change acknowledged as synced, or flushed, survives if no unsynced change reaches the
/// disk.
@Suite struct SyncedChangeTests {
  private static let square = Style("square")!
  private static let names = ["a", "b", "c", "p/1", "p/2"]

  struct Change: Sendable, CustomStringConvertible {
    let description: String
    let make: @Sendable (CacheStore) throws -> Void

    init(_ description: String, _ make: @escaping @Sendable (CacheStore) throws -> Void) {
      self.description = description
      self.make = make
    }
  }

  private static let synced = PutOptions(durability: .synced)

  static let changes: [Change] = [
    Change("a small put") { try $0.put(Workload.bytes(600, 11), for: "a", options: synced) },
    Change("a large put") { try $0.put(Workload.bytes(40_000, 12), for: "a", options: synced) },
    Change("a put of a buffered entry's bytes") { store in
      try store.put(Workload.bytes(9000, 13), for: "b")
      try store.put(Workload.bytes(9000, 13), for: "c", options: synced)
    },
    Change("a batch") { store in
      var batch = WriteBatch()
      batch.put(Workload.bytes(500, 14), for: CacheKey("a"))
      batch.put(Workload.bytes(30_000, 15), for: CacheKey("b"))
      batch.remove(CacheKey("c"))
      try store.write(batch, durability: .synced)
    },
    Change("a batch of values that are compressed") { store in
      var batch = WriteBatch()
      for (number, name) in names.enumerated() {
        batch.put((0..<2000).map { UInt8(truncatingIfNeeded: ($0 / 9 + number) % 23) }, for: CacheKey(name))
      }
      try store.write(batch, durability: .synced)
    },
    Change("a change of metadata") { _ = try $0.setMetadata([1, 2], for: CacheKey("a"), durability: .synced) },
    Change("a removal") { try $0.remove("a", durability: .synced) },
    Change("a removal of several") { _ = try $0.removeMany([CacheKey("a"), CacheKey("b")], durability: .synced) },
    Change("a removal of all styles") { _ = try $0.removeAllStyles("a", durability: .synced) },
    Change("a removal of a prefix") { _ = try $0.removeAll(prefix: "p/", durability: .synced) },
    Change("a removal of everything") { try $0.removeAll(durability: .synced) },
    Change("a body in pieces") { store in
      let writer = try store.writer(for: "a", length: 20_000, options: synced)
      try writer.write(Workload.bytes(20_000, 16))
      try writer.commit()
    },
    Change("a body of unknown length") { store in
      let writer = try store.writer(for: "a", options: synced)
      try writer.write(Workload.bytes(100_000, 17))
      try writer.commit()
    },
    Change("a drawing") { store in
      try store.draw(CacheKey("a", square), width: 20, height: 20, format: .bgra8888, options: synced) { span, layout in
        span.withUnsafeMutableBytes { $0.copyBytes(from: Workload.bytes(layout.byteCount, 18)) }
      }
    },
    Change("a flush") { store in
      try store.put(Workload.bytes(700, 19), for: "a")
      try store.remove("b")
      try store.flush()
    },
  ]

  private func contents(_ store: CacheStore) -> [CacheKey: [UInt8]] {
    var found: [CacheKey: [UInt8]] = [:]
    for name in SyncedChangeTests.names {
      for style in [Style.original, SyncedChangeTests.square] {
        let key = CacheKey(name, style)
        guard let bytes = store.bytes(key), case .found(let entry) = store.lookup(key) else { continue }
        found[key] = bytes + entry.metadata
      }
    }
    return found
  }

  /// The store that the next process finds if no unsynced change has arrived.
  private func left(_ work: Workload) throws -> CacheStore {
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    return try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  private func filled() throws -> Workload {
    let work = try Workload()
    for (number, name) in SyncedChangeTests.names.enumerated() {
      try work.put(name, Workload.bytes(900, number))
      try work.store.put(
        Workload.bytes(300, 50 + number), for: CacheKey(name, SyncedChangeTests.square),
        options: PutOptions(source: SourceOption.none))
    }
    try work.flush()
    return work
  }

  @Test(arguments: changes) func acknowledgedSyncedChangeSurvives(_ change: Change) throws {
    let work = try filled()
    let before = contents(work.store)
    #expect(before.count == 2 * SyncedChangeTests.names.count)
    try change.make(work.store)
    let after = contents(work.store)
    #expect(after != before)
    // Buffered parts of the change may be missing, but no changed key may have its earlier value.
    let found = contents(try left(work))
    for (key, bytes) in after
    where before[key] != bytes
      && (change.description != "a put of a buffered entry's bytes"
        || key == CacheKey("c"))
    {
      #expect(found[key] == bytes, "\(change): \(key.urlText)")
    }
    for key in before.keys where after[key] == nil { #expect(found[key] == nil, "\(change): \(key.urlText)") }
  }

  /// Tries a power loss after each operation, with each unsynced write kept, lost or torn alone, and with random
  /// mixtures. The record is inline in its frame, or too long for that.
  @Test(arguments: [40, 2000, 9000]) func bufferedChangeOfMetadataKeepsADurableEntry(_ count: Int) throws {
    let work = try filled()
    let metadata = Workload.bytes(count, 77)
    let key = CacheKey("a")
    let before = contents(work.store)[key]
    let begin = work.world.disk.operationCount
    #expect(try work.store.setMetadata(metadata, for: key))
    let after = contents(work.store)[key]
    var looked = 0
    let moments = Array(begin...work.world.disk.operationCount)
    for crash in work.world.disk.crashes(mixtures: 8, seed: 3, after: moments) {
      let world = work.world.rebooted(crash.disk())
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      let found = contents(store)[key]
      #expect(found == before || found == after, "\(crash)")
      looked += 1
    }
    #expect(after != before && looked > 4)
  }

  /// A synced pin of a pinned entry changes nothing. A synced unpin of an entry without a pin changes nothing either.
  /// Both promise that the entry is durable.
  @Test(arguments: [false, true]) func syncedPinWithoutAChangeMakesTheEntryDurable(_ isPinned: Bool) throws {
    let work = try filled()
    let (key, bytes) = (CacheKey("a"), Workload.bytes(700, 22))
    try work.store.put(bytes, for: "a", options: PutOptions(isPinned: isPinned))
    if isPinned {
      #expect(try work.store.pin(key, durability: .synced))
    } else {
      #expect(try work.store.unpin(key, durability: .synced))
    }
    #expect(try left(work).bytes("a") == bytes)
  }

  /// Rule 3: a payload lost in a crash is not promised again.
  @Test func metadataOfALostPayloadAreNotAcknowledged() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(9000, 1))
    let world = work.world.rebooted(work.world.disk.copy())
    let path = try #require(
      world.disk.filePaths.filter { $0.hasSuffix(".segment") }.first { path in
        (world.disk.contents(path) ?? []).dropFirst(128).first == UInt8(ascii: "V")
      })
    #expect(world.disk.damage(path) { $0[128 + 5000] ^= 1 })
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(try !store.setMetadata([1], for: CacheKey("a"), durability: .synced))
    #expect(store.bytes("a") == nil)
  }

  /// The log carries the payload; its file has to exist, with its length.
  @Test func aBodyThatHasOutgrownTheSegmentsHasItsFile() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 256 << 20, segmentByteCount: 65_536))
    // A small log would not carry it.
    try work.store.growLog()
    let writer = try work.store.writer(for: "a", options: SyncedChangeTests.synced)
    try writer.write(Workload.bytes(100_000, 23))
    try writer.commit()
    #expect(try left(work).bytes("a") == Workload.bytes(100_000, 23))
  }

  @Test func awaitedFlushMakesChangesDurable() async throws {
    let work = try filled()
    try work.store.put(Workload.bytes(700, 20), for: "a")
    try await work.store.asynchronous.flush()
    #expect(try left(work).bytes("a") == Workload.bytes(700, 20))
  }

  @Test func roundOfUpkeepMakesEarlierChangesDurable() throws {
    let work = try filled()
    try work.store.put(Workload.bytes(700, 21), for: "a")
    work.world.background.runAll()
    #expect(try left(work).bytes("a") == Workload.bytes(700, 21))
  }
}
