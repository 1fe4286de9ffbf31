import Testing

@testable import Vitrine

/// Upkeep of an idle store sleeps until the store is used or changed, or until a known moment.
@Suite struct IdleStoreTests {
  let world = TestWorld(fileSystem: MemoryDisk())

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 8 << 20)) throws -> CacheStore {
    try world.open("store", options)
  }

  /// Lets time pass from round to round until upkeep sleeps without a time, or until `most` rounds. Returns the
  /// milliseconds that passed.
  @discardableResult
  private func runUntilAsleep(most: Int = 100) throws -> Int {
    var passed = 0
    for _ in 0..<most {
      world.background.run()
      guard case .after(let milliseconds)? = world.background.nextStep else { return passed }
      world.clock.advance(Int64(milliseconds))
      passed += milliseconds
    }
    Issue.record("upkeep is still awake after \(most) rounds")
    return passed
  }

  private var wakes: Int { world.background.wakeCount.withLock { $0 } }

  @Test func aNewStoreSoonSleeps() throws {
    let store = try open()
    try runUntilAsleep()
    #expect(world.background.nextStep == .whenWoken)
    try store.close()
  }

  @Test(arguments: [EvictionPolicy.lru, .s3fifo, .sieve]) func aUseWakesUpkeepAndIsSaved(_ policy: EvictionPolicy)
    throws
  {
    let store = try open(StoreOptions(byteBudget: 8 << 20, policy: policy))
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 500), for: "k\(number)") }
    try runUntilAsleep()
    let (before, checkpoint) = (wakes, store.probe.checkpoints.current)
    #expect(store["k3"] != nil)
    #expect(wakes == before + 1)
    #expect(store["k4"] != nil)
    #expect(wakes == before + 1)
    #expect(try runUntilAsleep() <= 120_000)
    #expect(store.probe.savedUses == store.probe.recencyCount)
    #expect(store.probe.checkpoints.current == checkpoint)
    try store.close()
  }

  @Test func aChangeWakesUpkeepAndIsMadeDurable() throws {
    let store = try open()
    try runUntilAsleep()
    let before = wakes
    try store.put([1], for: "k")
    #expect(wakes > before)
    try runUntilAsleep()
    #expect(store.probe.wal.durableSequence >= store.probe.log.position.sequence)
    let again = wakes
    #expect(try store.remove("k"))
    #expect(wakes > again)
    try store.close()
  }

  @Test func anExpiryIsAwaited() throws {
    let store = try open()
    let due = world.clock.wallMilliseconds() + 7_000_000
    try store.put([1], for: "k", options: PutOptions(expirationMilliseconds: due))
    var rounds = 0
    while store.probe.keyCount > 0, rounds < 100 {
      world.background.run()
      guard case .after(let milliseconds)? = world.background.nextStep else { break }
      world.clock.advance(Int64(milliseconds))
      rounds += 1
    }
    #expect(store.probe.keyCount == 0 && world.clock.wallMilliseconds() <= due + 1000)
    try runUntilAsleep()
    try store.close()
  }

  /// Quiet upkeep compacts before it sleeps.
  @Test func deadBytesAreReclaimedBeforeTheSleep() throws {
    let store = try open()
    for number in 0..<300 { try store.put(noise(10_000, UInt64(number)), for: "k\(number)") }
    for number in 0..<300 where number % 4 != 0 { try store.remove("k\(number)") }
    try runUntilAsleep(most: 300)
    #expect(store.statistics().bytesOnDisk < 2 << 20)
    try store.close()
  }

  @Test func bytesOfARemovedBlobLeaveTheAccountsWithoutUpkeep() throws {
    let store = try open()
    for number in 0..<50 { try store.put(noise(10_000, UInt64(number)), for: "k\(number)") }
    var blob = store.blob("k3")
    try store.removeAll()
    for _ in 0..<20 {
      world.background.run()
      world.clock.advance(1000)
    }
    #expect(blob?.byteCount == 10_000 && store.probe.unlinkedByteCount > 0)
    blob = nil
    try runUntilAsleep()
    #expect(store.probe.unlinkedByteCount == 0)
    try store.close()
  }

  @Test func smallSyncedPutsDoNotKeepUpkeepAwake() throws {
    let store = try open()
    for number in 0..<20 {
      try store.put([UInt8](repeating: 1, count: 100), for: "k\(number)", options: PutOptions(durability: .synced))
    }
    try runUntilAsleep()
    try store.close()
  }

  /// Misses are counted, and cost at most a round each second.
  @Test func missesWakeUpkeepAfterASecond() throws {
    let store = try open()
    try runUntilAsleep()
    #expect(store["missing"] == nil)
    #expect(world.background.nextStep == .after(milliseconds: 1000))
    let before = wakes
    for _ in 0..<100 { #expect(store["missing"] == nil) }
    #expect(wakes == before)
    try runUntilAsleep()
    #expect(store.probe.publishedCounters.misses == 101)
    try store.close()
  }

  /// The next round comes long after the use.
  @Test func aUseOfASleepingStoreKeepsItsDate() throws {
    let store = try open()
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 500), for: "k\(number)") }
    try runUntilAsleep()
    let moment = world.clock.wallMilliseconds()
    #expect(store["k3"] != nil)
    world.clock.advance(7_200_000)
    world.background.run()
    world.clock.advance(1000)
    #expect(store["k4"] != nil)
    guard case .found(let info) = store.lookup("k3") else {
      Issue.record("the entry is missing")
      return
    }
    // Two hours without a round do not make a use younger.
    #expect(abs((info.lastUsedMilliseconds ?? 0) - moment) <= 1000)
    try store.close()
  }

  /// Nothing of these is a use or a change, and each wakes upkeep.
  @Test(arguments: ["idle", "trim"]) func aWakeWhileUpkeepFallsAsleepIsKept(_ call: String) throws {
    let store = try open()
    for rounds in 1...6 {
      try runUntilAsleep()
      #expect(store["missing"] == nil)
      for _ in 0..<rounds {
        world.background.run()
        world.clock.advance(1000)
      }
      if call == "idle" { _ = try store.idle() } else { try store.trim(toEntries: 10) }
      world.background.run()
      world.clock.advance(1000)
      world.background.run()
      try store.put([1], for: "k")
      if case .after(let delay)? = world.background.nextStep, delay <= 1000 { continue }
      Issue.record("no round follows the put, after \(rounds) rounds")
    }
    try store.close()
  }

  /// The call comes when upkeep sleeps, or at any time while it falls asleep.
  @Test(arguments: 1...12) func aMinimumThatIsSetLaterIsWatched(_ rounds: Int) throws {
    let store = try open()
    for _ in 0..<rounds {
      world.background.run()
      world.clock.advance(rounds == 12 ? 600_000 : 1000)
    }
    try store.setBudgets(minimumFreeBytes: 1 << 20)
    world.background.run()
    #expect(world.background.nextStep == .after(milliseconds: 1000))
    try store.close()
  }

  @Test func aMinimumOfFreeBytesIsWatched() throws {
    let store = try open(StoreOptions(byteBudget: 8 << 20, minimumFreeBytes: 1 << 20))
    for _ in 0..<20 {
      world.background.run()
      #expect(world.background.nextStep == .after(milliseconds: 1000))
      world.clock.advance(1000)
    }
    try store.close()
  }

  @Test func aUseSoonAfterACheckpointIsSaved() throws {
    let store = try open()
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 500), for: "k\(number)") }
    try runUntilAsleep()
    try store.checkpoint()
    #expect(store["k3"] != nil)
    #expect(try runUntilAsleep() <= 60_000)
    #expect(store.probe.savedUses == store.probe.recencyCount)
    try store.close()
  }

  /// Another program sets the clock of the machine back.
  @Test func aUseAtTheTimeOfTheLastRoundWakesUpkeep() throws {
    let store = try open()
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 500), for: "k\(number)") }
    try runUntilAsleep()
    #expect(store["missing"] == nil)
    for _ in 0..<20 where world.background.nextStep != .whenWoken {
      world.background.run()
      world.clock.advance(1000)
      world.clock.step(-1000)
    }
    #expect(world.background.nextStep == .whenWoken)
    let before = wakes
    #expect(store["k3"] != nil)
    #expect(wakes == before + 1)
    try store.close()
  }
}
