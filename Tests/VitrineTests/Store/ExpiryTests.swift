import Testing

@testable import Vitrine

@Suite struct ExpiryTests {
  let disk = MemoryDisk()
  let world: TestWorld
  private static let minute: Int64 = 60_000
  private static let day: Int64 = 86_400_000

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ maximumAge: Int64? = nil) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 8 << 20, maximumAgeMilliseconds: maximumAge))
  }

  /// Runs a due sweep to its end.
  private func sweep() {
    for _ in 0..<20 { world.background.run() }
  }

  @Test func entryOlderThanTheLimitIsAMiss() throws {
    let store = try open(Self.day)
    try store.put([1], for: "a")
    try store.put(text(5000), for: "b")
    world.clock.advance(Self.day - 1)
    try store.put([3], for: "c")
    #expect(store["a"] == [1] && store.contains("b") && store["b"] == text(5000))
    world.clock.advance(1)
    #expect(store["a"] == nil && store["b"] == nil && !store.contains("a") && store["c"] == [3])
    #expect(store.lookup("b") == .expired)
    #expect(try !store.setMetadata([1], for: CacheKey("a")))
    try store.put([1], for: "a")
    #expect(store["a"] == [1], "put again, even the same bytes")
    try store.close()
  }

  @Test func changeOfMetadataKeepsTheAge() throws {
    let store = try open(Self.day)
    try store.put([1], for: "a")
    world.clock.advance(Self.day / 2)
    #expect(try store.setMetadata([1], for: CacheKey("a")))
    #expect(try store.setExpiration(world.clock.wallMilliseconds() + 9 * Self.day, for: CacheKey("a")))
    world.clock.advance(Self.day / 2)
    #expect(store.lookup("a") == .expired)
    try store.close()
  }

  @Test func theLimitIsKeptInTheStore() throws {
    try open(Self.day).close()
    var store = try open()
    try store.put([1], for: "a")
    world.clock.advance(Self.day)
    #expect(store.lookup("a") == .expired)
    store.abandon()
    store = try open(0)
    #expect(store["a"] == [1], "no limit, and nothing was taken meanwhile")
    try store.close()
  }

  @Test func oneRoundOfUpkeepRemovesAllExpiredEntries() throws {
    let store = try open(Self.day)
    for number in 0..<2500 { try store.put(noise(20, UInt64(number)), for: "u\(number)") }
    world.clock.advance(Self.day)
    try store.put([1], for: "young")
    #expect(store.count == 1 && store.probe.keyCount == 2501)
    world.background.run()
    #expect(store.probe.keyCount == 1 && store["young"] == [1])
    #expect(store.statistics().segments.reduce(0) { $0 + $1.liveByteCount } < 1000)
    try store.close()
  }

  @Test func expiringEntryIsFoundAmongPermanentOnes() throws {
    var store = try open()
    let soon = PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 90_000)
    for number in 0..<50 { try store.put([1], for: "u\(number)", options: number % 5 == 0 ? soon : PutOptions()) }
    try store.put([1], for: "later")
    #expect(try store.setExpiration(world.clock.wallMilliseconds() + 3_600_000, for: CacheKey("later")))
    world.clock.advance(Self.minute)
    sweep()
    #expect(store.count == 51)
    // The expiry of an entry is kept by the checkpoint, and by the log.
    try store.put([1], for: "last", options: soon)
    store.abandon()
    store = try open()
    world.clock.advance(Self.minute)
    sweep()
    #expect(store.count == 41 && !store.contains("last"))
    try store.close()
    store = try open()
    world.clock.advance(3_600_000)
    sweep()
    #expect(store.count == 40)
    try store.close()
  }

  @Test func recordsAreReadOnlyWhenTheyAreDue() throws {
    let store = try open()
    try store.put([1], for: "a")
    sweep()
    let wall = world.clock.wallMilliseconds()
    #expect(!store.probe.isExpirationDue(at: .max - 1), "no entry expires")
    try store.put([1], for: "b", options: PutOptions(expirationMilliseconds: wall + 1000))
    #expect(store.probe.isExpirationDue(at: wall + 1000) && !store.probe.isExpirationDue(at: wall + 999))
    world.clock.advance(1000)
    sweep()
    #expect(store.probe.keyCount == 1 && !store.probe.isExpirationDue(at: .max - 1))
    try store.close()
  }

  @Test func aSlidingExpiryCountsFromTheLastUse() throws {
    let store = try open()
    let options = PutOptions(slidingExpirationMilliseconds: 1000)
    try store.put([1], for: "a", options: options)
    world.clock.advance(999)
    #expect(store["a"] == [1])
    guard case .found(let entry) = store.lookup("a") else {
      Issue.record("missing")
      return
    }
    #expect(entry.slidingExpirationMilliseconds == 1000 && entry.expirationMilliseconds == nil)
    #expect(try store.setMetadata([1], for: CacheKey("a")))
    world.clock.advance(999)
    #expect(store.contains("a"), "a change is a use")
    world.clock.advance(2000)
    #expect(store.lookup("a") == .expired && store["a"] == nil)
    #expect(store["a"] == nil, "a get of an expired entry is no use")
    try store.put([1], for: "a", options: options)
    for _ in 0..<8 {
      world.clock.advance(500)
      #expect(store["a"] == [1])
    }
    world.clock.advance(3000)
    #expect(store["a"] == nil)
    try store.put([1], for: "a", options: options)
    #expect(try store.setExpiration(nil, for: CacheKey("a")))
    world.clock.advance(5000)
    #expect(store["a"] == [1], "a fixed expiry, or none, takes its place")
    try store.close()
  }

  @Test(arguments: [
    PutOptions(slidingExpirationMilliseconds: 0), PutOptions(slidingExpirationMilliseconds: .min),
    PutOptions(expirationMilliseconds: 5, slidingExpirationMilliseconds: 5),
  ])
  func invalidExpiriesAreRefused(_ options: PutOptions) throws {
    let store = try open()
    guard case .invalidArgument? = storeError({ try store.put([1], for: "a", options: options) }) else {
      Issue.record("not refused")
      return
    }
    #expect(store.count == 0)
    try store.close()
  }

  @Test(arguments: [Int64.min, -1, 0, 1, .max])
  func everyMomentIsAValidExpiry(_ moment: Int64) throws {
    let store = try open(.max)
    try store.put([1], for: "a", options: PutOptions(expirationMilliseconds: moment))
    #expect(store.contains("a") == (moment == .max))
    try store.put([1], for: "b", options: PutOptions(slidingExpirationMilliseconds: .max))
    world.clock.advance(2 * Self.minute)
    sweep()
    #expect(store["b"] == [1] && store.count == (moment == .max ? 2 : 1))
    try store.close()
  }

  // MARK: Clocks that step

  @Test func clockSetBackKeepsExpiriesFinite() throws {
    let store = try open(Self.day)
    // Days pass while the store stays open; then the clock turns out to be ten years ahead.
    world.clock.advance(5 * Self.day)
    try store.put([1], for: "a")
    world.background.run()
    world.clock.step(-3650 * Self.day)
    #expect(store["a"] == [1], "nothing is known of its age but that it is not negative")
    world.background.run()
    world.clock.advance(Self.day - 1)
    #expect(store["a"] == [1])
    world.clock.advance(1)
    #expect(store.lookup("a") == .expired)
    world.clock.advance(Self.minute)
    sweep()
    #expect(store.count == 0)
    try store.close()
  }

  @Test func entriesFromTheFutureAgeFromTheOpening() throws {
    var store = try open(Self.day)
    try store.put([1], for: "a")
    try store.close()
    world.clock.step(-20_000 * Self.day)
    store = try open()
    #expect(store["a"] == [1], "a machine that wakes up in 1970")
    try store.put([2], for: "b")
    sweep()
    world.clock.step(20_000 * Self.day)
    #expect(store["a"] == [1] && store.lookup("b") == .expired)
    try store.close()
  }

  @Test func aSmallCorrectionChangesNothing() throws {
    let store = try open(Self.day)
    world.clock.advance(30 * Self.day)
    for step in 1...20 {
      try store.put([UInt8(step)], for: "a")
      world.clock.step(-3000)
      #expect(store["a"] == [UInt8(step)])
    }
    try store.close()
  }
}
