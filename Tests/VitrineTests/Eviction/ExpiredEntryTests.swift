import Foundation
import Testing

@testable import Vitrine

/// Expired entries are removed before live ones, and are not listed: listings match gets.
@Suite struct ExpiredEntryTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 8 << 20)) throws -> CacheStore {
    try world.open("store", options)
  }

  private func soon(_ milliseconds: Int64 = 1000) -> PutOptions {
    PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + milliseconds)
  }

  /// Keys of the index, whether their entries have expired or not.
  private func indexed(_ store: CacheStore) -> Int { store.probe.keyCount }

  private func expectListed(_ store: CacheStore, _ expected: Set<String>, _ comment: Comment = "") throws {
    var listed: Set<String> = []
    store.forEachEntry { entry in
      listed.insert(entry.key.urlText)
      return true
    }
    #expect(listed == expected, comment)
    #expect(store.count == expected.count && store.statistics().entryCount == expected.count, comment)
    #expect(try store.keysInOrder().map(\.urlText) == expected.sorted(), comment)
    #expect(try Set(store.keysByRecency().map(\.urlText)) == expected, comment)
    for key in expected { #expect(store[key] != nil, comment) }
  }

  // MARK: Order

  @Test(arguments: [false, true]) func entryBudgetRemovesExpiredEntriesFirst(_ reopens: Bool) throws {
    var store = try open(StoreOptions(byteBudget: 8 << 20, entryBudget: 1000))
    for number in 0..<100 { try store.put(noise(100, UInt64(number)), for: "live\(number)") }
    for number in 0..<900 { try store.put(noise(100, UInt64(1000 + number)), for: "soon\(number)", options: soon()) }
    for number in 0..<900 { _ = store["soon\(number)"] }
    if reopens {
      try store.close()
      store = try open(StoreOptions())
    }
    world.clock.advance(1000)
    for number in 0..<100 { try store.put(noise(100, UInt64(5000 + number)), for: "new\(number)") }
    for number in 0..<100 { #expect(store["live\(number)"] != nil && store["new\(number)"] != nil) }
    #expect(store.count == 200 && store.statistics().evictedCount == 0)
    try store.close()
  }

  @Test(arguments: [false, true]) func byteBudgetRemovesExpiredEntriesFirst(_ hasAgeLimit: Bool) throws {
    let store = try open(
      StoreOptions(byteBudget: 4 << 20, maximumAgeMilliseconds: hasAgeLimit ? 10_000 : nil))
    if hasAgeLimit {
      for number in 0..<300 { try store.put(noise(7000, UInt64(number)), for: "old\(number)") }
      world.clock.advance(9000)
    }
    for number in 0..<100 { try store.put(noise(7000, UInt64(1000 + number)), for: "live\(number)") }
    if !hasAgeLimit {
      for number in 0..<300 {
        try store.put(noise(7000, UInt64(number)), for: "old\(number)", options: soon())
      }
    }
    for number in 0..<300 { _ = store["old\(number)"] }
    world.clock.advance(1000)
    for number in 0..<300 { try store.put(noise(7000, UInt64(3000 + number)), for: "new\(number)") }
    for number in 0..<100 { #expect(store["live\(number)"] != nil) }
    #expect(store.statistics().evictedCount == 0 && store.statistics().bytesOnDisk <= 4 << 20)
    try store.close()
  }

  @Test func evictionForBytesRemovesExpiredEntriesFirst() throws {
    let store = try open()
    for number in 0..<10 { try store.put(noise(7000, UInt64(number)), for: "live\(number)") }
    for number in 0..<20 { try store.put(noise(7000, UInt64(100 + number)), for: "soon\(number)", options: soon()) }
    world.clock.advance(1000)
    #expect(try store.probe.evict(byteCount: 20 * 7000) == 20)
    for number in 0..<10 { #expect(store["live\(number)"] != nil) }
    #expect(indexed(store) == 10 && store.statistics().evictedCount == 0)
    try store.close()
  }

  // MARK: Short sessions

  @Test func shortSessionsRemoveExpiredEntries() throws {
    for session in 0..<40 {
      let store = try open()
      #expect(indexed(store) == session, "the expired entries have gone as the session before was closed")
      try store.put(noise(300, UInt64(session)), for: "live\(session)")
      for number in 0..<20 {
        try store.put(noise(300, UInt64(100 * session + number)), for: "\(session)-\(number)", options: soon())
      }
      #expect(store.count == session + 21)
      world.clock.advance(2000)
      #expect(store.count == session + 1)
      try store.close()
    }
    let store = try open()
    #expect(indexed(store) == 40)
    for session in 0..<40 { #expect(store["live\(session)"] != nil) }
    try store.close()
  }

  @Test func upkeepOfKilledSessionsRemovesExpiredEntries() throws {
    for session in 0..<10 {
      let store = try open()
      world.background.run()
      #expect(indexed(store) == session)
      try store.put(noise(300, UInt64(session)), for: "live\(session)")
      for number in 0..<2000 { try store.put([1], for: "\(session)-\(number)", options: soon()) }
      try store.flush()
      world.clock.advance(2000)
      store.abandon()
    }
  }

  @Test func idleCompactAndRemoveExpiredRemoveAllExpiredEntries() throws {
    let store = try open()
    for round in 0..<3 {
      for number in 0..<3000 { try store.put([1], for: "\(number)", options: soon()) }
      try store.put([2], for: "live")
      world.clock.advance(1000)
      #expect(indexed(store) == 3001)
      switch round {
      case 0: #expect(try store.idle())
      case 1: _ = try store.compact()
      default: #expect(try store.removeExpired() == 3000)
      }
      #expect(indexed(store) == 1 && store["live"] == [2])
    }
    #expect(try store.removeExpired() == 0)
    try store.close()
    #expect(storeError { try store.removeExpired() } == .closed)
    let reader = try world.openReadOnly("store")
    #expect(storeError { try reader.removeExpired() } == .readOnly)
    try reader.close()
  }

  @Test func asynchronousRemovalRemovesExpiredEntries() async throws {
    let store = try open()
    try store.put([1], for: "a", options: soon())
    world.clock.advance(1000)
    #expect(try await store.asynchronous.removeExpired() == 1)
    try store.close()
  }

  // MARK: Listing

  @Test(arguments: [ReadMode.mapped, .copied]) func listingsOmitExpiredEntries(_ reads: ReadMode) throws {
    let folder = try TemporaryFolder()
    let world = TestWorld()
    let store = try world.open(folder.store)
    func soon() -> PutOptions { PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 1000) }
    for number in 0..<50 { try store.put(noise(200, UInt64(number)), for: "live\(number)") }
    for number in 0..<70 { try store.put(noise(200, UInt64(100 + number)), for: "soon\(number)", options: soon()) }
    try store.put(noise(200, 500), for: "sliding", options: PutOptions(slidingExpirationMilliseconds: 5000))
    try store.checkpoint()
    let live = Set((0..<50).map { "live\($0)" })
    let all = live.union((0..<70).map { "soon\($0)" }).union(["sliding"])
    try expectListed(store, all)
    let reader = try world.openReadOnly(folder.store, reads: reads)
    try expectListed(reader, all)
    world.clock.advance(1000)
    for _ in 0..<2 {
      try expectListed(store, live.union(["sliding"]))
      try expectListed(reader, live.union(["sliding"]))
    }
    #expect(indexed(store) == 121 && indexed(reader) == 121, "nothing was removed by looking")
    world.clock.advance(6000)
    try expectListed(store, live)
    #expect(reader["sliding"] == nil)
    try expectListed(reader, live)
    #expect(try store.entries(digest: digest(noise(200, 0))).count == 1)
    #expect(try store.entries(digest: digest(noise(200, 100))).isEmpty)
    var asked = 0
    #expect(
      try store.removeAll { _ in
        asked += 1
        return false
      } == 0)
    #expect(asked == 50)
    #expect(try store.removeAll(prefix: "soon") == 70, "a removal by prefix leaves nothing")
    #expect(indexed(store) == 51)
    try store.close()
    try reader.close()
  }

  private func digest(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { Digest(of: $0) } }

  @Test func aReaderCountsAsItsWriterAfterARefresh() throws {
    let folder = try TemporaryFolder()
    let world = TestWorld()
    let store = try world.open(folder.store, StoreOptions(byteBudget: 1 << 20))
    let reader = try world.openReadOnly(folder.store)
    func soon() -> PutOptions { PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 1000) }
    for round in 0..<12 {
      for number in 0..<40 { try store.put(noise(90, UInt64(round * 40 + number)), for: "u\(number)", options: soon()) }
      try store.put([1], for: "live\(round)")
      if round % 4 == 3 { for _ in 0..<3 { try store.checkpoint() } }
      _ = try reader.refresh()
      #expect(reader.count == round + 41)
      world.clock.advance(1000)
      #expect(reader.count == round + 1 && store.count == round + 1)
      #expect(try reader.keysInOrder() == store.keysInOrder())
    }
    try reader.close()
    try store.close()
  }

  /// Each refresh or load adds keys that no earlier one has noted.
  @Test(arguments: [false, true]) func aReaderCountsNoExpiredEntryOfALaterRefresh(_ loads: Bool) throws {
    let folder = try TemporaryFolder()
    let world = TestWorld()
    let store = try world.open(folder.store, StoreOptions(byteBudget: 1 << 20))
    let reader = try world.openReadOnly(folder.store)
    for round in 0..<3 {
      // A reader does not follow the removal of everything, and loads the index again.
      if loads { try store.removeAll() }
      let soon = PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 1000)
      for number in 0..<40 { try store.put([UInt8(number)], for: "\(round)-\(number)", options: soon) }
      try store.put([1], for: "live")
      #expect(try reader.refresh())
      #expect(reader.count == 41)
      world.clock.advance(1000)
      #expect(reader.count == 1 && store.count == 1)
    }
    try reader.close()
    try store.close()
  }

  @Test func countIsRightAfterADeath() throws {
    var store = try open()
    for number in 0..<300 {
      try store.put(noise(100, UInt64(number)), for: "u\(number)", options: number % 3 == 0 ? PutOptions() : soon())
    }
    try store.checkpoint()
    for number in 300..<600 {
      try store.put(noise(100, UInt64(number)), for: "u\(number)", options: number % 3 == 0 ? PutOptions() : soon())
    }
    store.abandon()
    store = try open()
    #expect(store.count == 600)
    world.clock.advance(1000)
    #expect(store.count == 200)
    store.abandon()
    store = try open()
    #expect(store.count == 200 && indexed(store) == 600)
    #expect(try store.removeExpired() == 400)
    try store.close()
  }

  @Test func countFollowsExpiriesThatChange() throws {
    let store = try open()
    try store.put([1], for: "a", options: soon())
    try store.put([2], for: "b", options: soon())
    try store.put([3], for: "c", options: soon(5000))
    #expect(try store.setExpiration(nil, for: CacheKey("a")))
    #expect(try store.setExpiration(world.clock.wallMilliseconds() + 500, for: CacheKey("c")))
    world.clock.advance(600)
    #expect(store.count == 2)
    try store.put([4], for: "c", options: soon(9000))
    #expect(store.count == 3)
    world.clock.advance(400)
    #expect(store.count == 2 && store["b"] == nil)
    try store.put([5], for: "b")
    world.clock.advance(60_000)
    #expect(store.count == 2 && store["a"] == [1] && store["b"] == [5])
    #expect(try store.removeExpired() == 1)
    try store.close()
  }

  @Test func countFollowsUsesOfSlidingEntries() throws {
    let store = try open()
    let options = PutOptions(slidingExpirationMilliseconds: 10_000)
    for number in 0..<20 { try store.put([UInt8(number)], for: "u\(number)", options: options) }
    for _ in 0..<30 {
      world.clock.advance(5000)
      world.background.run()
      for number in 0..<10 { #expect(store["u\(number)"] != nil) }
    }
    #expect(store.count == 10 && indexed(store) == 10)
    try store.close()
  }

  @Test func countFollowsAnAgeLimitUnderAClockThatIsSetBack() throws {
    let hour: Int64 = 3_600_000
    let store = try open(StoreOptions(byteBudget: 8 << 20, maximumAgeMilliseconds: 10 * hour))
    for number in 0..<10 { try store.put([UInt8(number)], for: "u\(number)") }
    world.clock.step(-1000 * hour)
    #expect(store.count == 10)
    #expect(try store.setMetadata([1], for: CacheKey("u1")))
    world.clock.advance(10 * hour - 1)
    #expect(store.count == 10 && store["u1"] != nil)
    world.clock.advance(1)
    #expect(store.count == 0 && store["u1"] == nil && store["u2"] == nil)
    #expect(try store.removeExpired() == 10)
    try store.close()
  }

  @Test func compactionKeepsExpiriesInTheCount() throws {
    let store = try open(StoreOptions(byteBudget: 4 << 20))
    for number in 0..<300 { try store.put(noise(6000, UInt64(number)), for: "u\(number)", options: soon(10_000)) }
    for number in 0..<300 where number % 3 != 0 { try store.remove("u\(number)") }
    #expect(try store.compact().recordsMoved > 0)
    #expect(store.count == 100)
    world.clock.advance(10_000)
    #expect(store.count == 0)
    #expect(try store.removeExpired() == 100)
    try store.close()
  }

  @Test func stylesWithOneTagExpireEachAtItsTime() throws {
    var known: [UInt16: Style] = [:]
    var pair: (Style, Style)?
    for number in 0..<5000 where pair == nil {
      let style = Style("s\(number)")!
      if let other = known.updateValue(style, forKey: style.tag) { pair = (other, style) }
    }
    let (one, other) = try #require(pair)
    let store = try open()
    try store.put([1], for: "u", style: one, options: soon(1000))
    try store.put([2], for: "u", style: other, options: soon(2000))
    world.clock.advance(1000)
    #expect(store.count == 1)
    #expect(try store.removeExpired() == 1)
    #expect(store.bytes("u", style: other) == [2] && store.count == 1)
    world.clock.advance(1000)
    #expect(store.count == 0)
    #expect(try store.removeExpired() == 1)
    try store.close()
  }

  @Test func countNeverIncludesExpiredEntriesWhileTheyAreRemoved() throws {
    let store = try open()
    for number in 0..<4000 { try store.put([1], for: "u\(number)", options: soon()) }
    for number in 0..<7 { try store.put([2], for: "live\(number)") }
    world.clock.advance(1000)
    let isDone = Guarded(false)
    let counts = Guarded<Set<Int>>([])
    let thread = Thread {
      while !isDone.withLock({ $0 }) {
        let count = store.count
        counts.withLock { _ = $0.insert(count) }
      }
      isDone.withLock { $0 = false }
    }
    thread.start()
    #expect(try store.removeExpired() == 4000)
    isDone.withLock { $0 = true }
    while isDone.withLock({ $0 }) { usleep(1000) }
    let seen = counts.withLock { $0 }
    #expect(seen.subtracting([7]).isEmpty)
    try store.close()
  }

  // MARK: Memory

  @Test func overwritesOfOneKeyKeepTheIndexOfExpiriesSmall() throws {
    let store = try open()
    for number in 0..<3000 { try store.put([UInt8(truncatingIfNeeded: number)], for: "a", options: soon(1 << 40)) }
    #expect(store.probe.expirationCount <= 64)
    for number in 0..<20_000 {
      try store.put([UInt8(truncatingIfNeeded: number)], for: "u\(number % 64)", options: soon(1 << 40))
      if number % 3 == 0 { try store.remove("u\(number % 64)") }
    }
    #expect(store.probe.expirationCount <= 64 * 64)
    try store.close()
  }
}
