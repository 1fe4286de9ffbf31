import Testing

@testable import Vitrine

@Suite struct CacheEventTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// The events of a store that has been closed, but for the first one.
  private func rest(_ events: CacheEvents) async -> [CacheEvent] {
    var all: [CacheEvent] = []
    for await event in events { all.append(event) }
    return Array(all.dropFirst())
  }

  @Test func theFirstEventTellsHowTheStoreWasOpened() async throws {
    let store = try world.open("store")
    var iterator = store.events().makeAsyncIterator()
    guard case .opened(let last) = await iterator.next() else {
      Issue.record("another event came first")
      return
    }
    #expect(last.kind == .created)
    try store.close()
    #expect(await iterator.next() == nil)
  }

  @Test func removalsHaveTheirReasons() async throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, entryBudget: 6))
    let events = store.events()
    let square = Style("square")!
    try store.put(noise(3000, 1), for: "a")
    try store.put(noise(200, 2), for: CacheKey("a", square))
    try store.put(noise(3000, 3), for: "a")
    try store.setMetadata([1], for: "a")
    try store.put(noise(3000, 3), for: "a")
    try store.remove("a")
    try store.put([1], for: "b", options: PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 10))
    world.clock.advance(1000)
    _ = try store.removeExpired()
    try store.put([2], for: "c")
    try store.removeAll()
    try store.put([3], for: "d", options: PutOptions(source: .named(Source([1])!)))
    #expect(store.bytes("d", source: Source([2])!) == nil)
    try store.close()
    let wanted: [CacheEvent] = [
      .removed("a", .replaced), .removed(CacheKey("a", square), .outdated), .removed("a", .removed),
      .removed("b", .expired), .removedAll, .removed("d", .outdated),
    ]
    let got = await rest(events)
    #expect(got.count == wanted.count)
    for event in wanted { #expect(got.contains(event), "\(event) is missing from \(got)") }
  }

  @Test func evictionsComeWithOneEventOfPressureAMinute() async throws {
    let store = try world.open(
      "store", StoreOptions(byteBudget: 8 << 20, entryBudget: 3, segmentByteCount: 64 << 10, policy: .lru))
    let events = store.events()
    for index in 0..<5 {
      try store.put([UInt8(index)], for: CacheKey("\(index)"))
      world.clock.advance(10)
    }
    world.clock.advance(60_000)
    try store.put([6], for: "6")
    try store.close()
    let got = await rest(events)
    #expect(got.filter { if case .removed(_, .evicted) = $0 { true } else { false } }.count == 3)
    #expect(got.contains(.removed("0", .evicted)))
    let pressures = got.filter { if case .pressure = $0 { true } else { false } }
    #expect(
      pressures == [
        .pressure(evictedEntryCount: 1, evictedByteCount: pressure(got, 0)),
        .pressure(evictedEntryCount: 2, evictedByteCount: pressure(got, 1)),
      ])
  }

  private func pressure(_ events: [CacheEvent], _ index: Int) -> Int {
    let sizes = events.compactMap { event -> Int? in
      if case .pressure(_, let bytes) = event { bytes } else { nil }
    }
    return index < sizes.count ? sizes[index] : -1
  }

  @Test func aDamagedEntryIsReported() async throws {
    var store = try world.open("store")
    try store.put(noise(3000), for: "a")
    try store.close()
    var image = disk.image
    for (name, bytes) in image where name.hasPrefix("segments/") {
      guard let start = bytes.firstRange(of: noise(3000).prefix(64))?.lowerBound else { continue }
      image[name]![start + 1000] ^= 1
    }
    store = try TestWorld(fileSystem: MemoryDisk(image)).open("store")
    let events = store.events()
    #expect(store["a"] == nil)
    try store.close()
    #expect(await rest(events) == [.removed("a", .damaged)])
  }

  @Test func aFailedWriteIsReported() async throws {
    let store = try world.open("store")
    let events = store.events()
    disk.onSync.withLock { hook in
      hook = { path throws(SystemError) in
        throw SystemError(code: SystemError.ioError, operation: "sync", path: path)
      }
    }
    #expect(throws: StoreError.self) { try store.put([1], for: "a", options: PutOptions(durability: .synced)) }
    #expect(throws: StoreError.self) { try store.close() }
    let failures = await rest(events).filter { if case .failed = $0 { true } else { false } }
    #expect(failures.count == 1)
    #expect(failures.first?.level == .error)
  }

  @Test func aSlowListenerLosesEventsAndTheyAreCounted() async throws {
    let store = try world.open("store")
    let events = store.events(capacity: 10)
    for _ in 0..<100 {
      try store.put([1], for: "a")
      try store.remove("a")
    }
    #expect(events.lostCount == 91)
    try store.close()
    var count = 0
    for await _ in events { count += 1 }
    #expect(count == 10)
  }

  @Test func eachSequenceHasAllEvents() async throws {
    let store = try world.open("store")
    let sequences = (0..<3).map { _ in store.events() }
    try store.put([1], for: "a")
    try store.remove("a")
    try store.close()
    for events in sequences { #expect(await rest(events) == [.removed("a", .removed)]) }
    #expect(await rest(store.events()) == [], "a sequence of a closed store ends at once")
  }

  @Test func aCancelledTaskEndsItsSequence() async throws {
    let store = try world.open("store")
    let events = store.events()
    let task = Task { for await _ in events {} }
    task.cancel()
    await task.value
    #expect(!store.probe.hasListeners)
    try store.put([1], for: "a")
    try store.close()
  }

  @Test func aSequenceGoesOnAfterASuspension() async throws {
    let store = try world.open("store")
    let events = store.events()
    try store.put([1], for: "a")
    try store.suspend()
    try store.resume()
    try store.remove("a")
    try store.close()
    let got = await rest(events)
    guard got.count == 2, case .opened(let last) = got[0] else {
      Issue.record("\(got)")
      return
    }
    #expect(last.kind == .clean && got[1] == .removed("a", .removed))
  }

  @Test func aSequenceDoesNotKeepTheStoreOpen() async throws {
    var store: CacheStore? = try world.open("store")
    let events = try #require(store?.events())
    store = nil
    #expect(await rest(events) == [])
    let next = try world.open("store")
    try next.close()
  }
}
