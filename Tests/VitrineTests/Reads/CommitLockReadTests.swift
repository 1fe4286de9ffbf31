import Testing

@testable import Vitrine

/// Every writer waits for the commit lock, so no head of a record is read from the disk under it. If no segment is
/// mapped, each use of a head is a read of its file, which the disk notices.
@Suite struct CommitLockReadTests {
  private static let styles = (0..<6).map { Style("w\($0)")! }

  enum Action: CaseIterable {
    case overwrite, newOriginal, removal, removals, allStyles, batch, metadata, sharing, eviction, expiry, predicate
  }

  private func options(_ reads: ReadMode) -> StoreOptions { StoreOptions(byteBudget: 8 << 20, reads: reads) }

  /// A store whose heads no thread has in memory: values, references to them, and an original with its styles.
  private func coldStore(_ world: TestWorld) throws -> CacheStore {
    let store = try world.open("store", options(.copied))
    for number in 0..<20 { try store.put(noise(400, UInt64(number)), for: "k\(number)") }
    for number in 0..<10 { try store.put(noise(400, UInt64(number)), for: "twin\(number)") }
    try store.put(noise(500, 30), for: "picture")
    for (number, style) in Self.styles.enumerated() {
      try store.put(noise(300, UInt64(40 + number)), for: CacheKey("picture", style))
    }
    for number in 0..<5 {
      try store.put(
        noise(200, UInt64(60 + number)), for: "short\(number)",
        options: PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 1000))
    }
    try store.close()
    return try world.open("store", options(.copied))
  }

  private func run(_ action: Action, _ store: CacheStore, _ world: TestWorld) throws {
    switch action {
    case .overwrite:
      for number in 0..<20 { try store.put(noise(410, UInt64(number)), for: "k\(number)") }
      try store.put(noise(410, 90), for: "twin3")
    case .newOriginal: try store.put(noise(501, 31), for: "picture")
    case .removal: #expect(try store.remove("k1") && store.remove("twin2"))
    case .removals:
      let names = (0..<20).map { "k\($0)" } + (0..<10).map { "twin\($0)" }
      #expect(try store.removeMany(names.map { CacheKey($0) }) == 30)
    case .allStyles: #expect(try store.removeAllStyles("picture") == 7)
    case .batch:
      var batch = WriteBatch()
      batch.put(noise(420, 70), for: CacheKey("k4"))
      batch.put(noise(400, 5), for: CacheKey("k6"))
      batch.put(noise(330, 71), for: CacheKey("picture", Self.styles[0]))
      batch.remove(CacheKey("twin7"))
      try store.write(batch)
    case .metadata:
      #expect(try store.setMetadata([1, 2], for: CacheKey("k1")) && store.setMetadata([3], for: CacheKey("twin1")))
    case .sharing: try store.put(noise(400, 12), for: "twin12")
    case .eviction:
      try store.setBudgets(entryBudget: 30)
      try store.put(noise(100, 80), for: "last")
    case .expiry:
      world.clock.advance(3_600_000)
      world.background.run()
      #expect(!store.contains("short1"))
    case .predicate: #expect(try store.removeAll { $0.key.urlText.hasPrefix("k") } == 20)
    }
  }

  @Test(arguments: Action.allCases) func noHeadIsReadUnderTheCommitLock(_ action: Action) throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let store = try coldStore(world)
    let reads = Guarded((under: 0, all: 0))
    disk.onRead.withLock { handler in
      handler = { path, _ in
        guard path.hasPrefix("segments/") else { return }
        let isHeld = store.probe.heldLocks.commit
        reads.withLock { reads in
          reads.all += 1
          if isHeld { reads.under += 1 }
        }
      }
    }
    try run(action, store, world)
    let (under, all) = reads.withLock { $0 }
    #expect(under == 0 && all > 0)
    disk.onRead.withLock { $0 = nil }
    try store.close()
  }

  /// After a slot was reused, heads read ahead from its old segment are not used.
  @Test func headOfAnotherSegmentIsNotTaken() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try coldStore(world)
    let hash = store.probe.hash(of: CacheKey("k1"))
    let location = try #require(store.probe.location(of: hash))
    let heads = try #require(store.probe.steps.readAhead([(hash, location)]))
    let segment = store.probe.segmentNumber(inSlot: location.slot)
    #expect(heads.view(at: location, in: segment)?.key == CacheKey("k1"))
    #expect(heads.view(at: location, in: segment + 1) == nil)
    try store.close()
  }
}
