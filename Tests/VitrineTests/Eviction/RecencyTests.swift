import Testing

@testable import Vitrine

@Suite struct RecencyTests {
  private func table(_ stamps: [UInt32], now: UInt32) -> KeyTable {
    let keys = KeyTable()
    for (index, stamp) in stamps.enumerated() {
      let hash = KeyHash(bits: UInt64(index &* 0x9E37_79B9) << 26)
      var slot = KeySlot(hash, Location(slot: 0, offset: 64 * (index + 1)), [])
      slot.stamp = stamp
      #expect(keys.insert(slot, hash))
    }
    keys.clock.set(now)
    return keys
  }

  private func order(_ keys: KeyTable, _ count: Int = .max) -> [UInt32] {
    StampOrder(countsHits: true).next(count, in: keys).map(\.stamp)
  }

  @Test func theOldestComeFirst() {
    var random = SeededRandom(seed: 4)
    let stamps = (0..<5000).map { _ in UInt32(random.below(1 << 30)) }
    let keys = table(stamps, now: 1 << 30)
    #expect(order(keys) == stamps.sorted())
    let some = order(keys, 100)
    #expect(some.count >= 100 && some == Array(stamps.sorted().prefix(some.count)))
    #expect(order(KeyTable()) == [])
  }

  @Test func stampsThatHaveComeRoundKeepTheirOrder() {
    // Given before the clock came round, and after.
    let keys = table([UInt32.max - 5, 3, UInt32.max - 100, 7], now: 10)
    #expect(order(keys) == [UInt32.max - 100, UInt32.max - 5, 3, 7])
    // One given while somebody looks.
    let later = table([5, 12], now: 10)
    #expect(order(later) == [5, 12])
  }

  @Test func oldStampsAreLiftedInTheirOrder() {
    let now: UInt32 = 0xC000_0000
    let keys = table([1, 2, 0x1000_0000, 0x4000_0001, 0xBFFF_FFFF], now: now)
    keys.liftOldStamps()
    let lifted = order(keys)
    let limit = now &- 1 << 31
    #expect(lifted == [limit - 2, limit - 1, limit, 0x4000_0001, 0xBFFF_FFFF])
    #expect(StampOrder(countsHits: true).next(9, in: keys).first?.hash == KeyHash(bits: 0).stored)
  }

  @Test func timesOfUseAreNeverSaidToBeLongerAgoThanTheyAre() {
    var times = UseTimes()
    var random = SeededRandom(seed: 2)
    var truth: [(stamp: UInt32, time: Int64)] = []
    var stamp: UInt32 = UInt32.max - 3000
    var time: Int64 = 1_000_000
    for _ in 0..<20_000 {
      time += Int64(random.below(3000))
      stamp &+= UInt32(random.below(4))
      truth.append((stamp, time))
      times.note(stamp: stamp, time: time)
      #expect(times.readings.count <= UseTimes.most)
    }
    for (used, at) in truth {
      guard let told = times.time(of: used, at: stamp) else {
        Issue.record("not noted")
        return
      }
      #expect(told >= at || truth.contains { $0.stamp == used && $0.time <= told })
      // Exact to a second lately, and to a part of its age before.
      #expect(told - at <= max(2 * (time - at) / 10, 6000), "\(time - at) ms ago")
    }
    #expect(times.time(of: stamp &+ 1, at: stamp &+ 1) == nil)
  }

  @Test func aClockThatIsSetBackLeavesNoTimesInTheFuture() {
    var times = UseTimes()
    times.note(stamp: 5, time: 10_000_000)
    times.note(stamp: 9, time: 20_000_000)
    times.note(stamp: 11, time: 15_000_000)
    #expect(times.readings.allSatisfy { $0.time <= 15_000_000 })
    #expect(times.time(of: 10, at: 11) == 15_000_000)
    #expect(times.time(of: 4, at: 11) == 10_000_000)
  }
}

@Suite struct LongRecencyTests {
  let world = TestWorld(fileSystem: MemoryDisk())

  @Test func timesOfUseOutliveTheClocksComingRound() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    let core = store.core
    let sliding = PutOptions(slidingExpirationMilliseconds: 100 * 3_600_000)
    var truth: [String: Int64] = [:]
    for step in 0..<12 {
      try store.put([UInt8(step)], for: "u\(step)", options: sliding)
      truth["u\(step)"] = world.clock.wallMilliseconds()
      core.noteUseTime()
      world.clock.advance(3_600_000)
      world.background.run()
      core.catalog.keys.clock.set(core.catalog.keys.clock.now &+ 1 << 30)
      world.background.run()
    }
    for (key, time) in truth {
      let hash = key.utf8.span.bytes.withUnsafeBytes { core.catalog.hasher.key($0, styleTag: Style.original.tag) }
      let told = core.catalog.keys.find(hash, counts: false) { $0 }.map {
        core.lastUse(of: $0, at: world.clock.wallMilliseconds())
      }
      #expect(told.map { abs($0 - time) <= 3_600_000 } == true, "\(key): told \(told ?? 0), was \(time)")
    }
    let order = try store.keysByRecency().map(\.urlText)
    #expect(order == (0..<12).reversed().map { "u\($0)" })
    #expect(store["u0"] == [0])
    world.clock.advance(91 * 3_600_000)
    #expect(store["u1"] == nil && store["u2"] == nil && store["u0"] == [0])
    try store.close()
  }
}
