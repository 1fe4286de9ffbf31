import Foundation
import Synchronization
import Testing

@testable import Vitrine

@Suite struct RecencyTests {
  private func table(_ stamps: [UInt32], now: UInt32) -> KeyTable {
    var keysWriter = KeyTableWriter()
    let keys = keysWriter.table
    for (index, stamp) in stamps.enumerated() {
      let hash = KeyHash(bits: UInt64(index &* 0x9E37_79B9) << 26)
      var slot = KeySlot(hash, Location(slot: 0, offset: 64 * (index + 1)), [])
      slot.stamp = stamp
      #expect(keysWriter.insert(slot, hash) == true)
    }
    keys.clock.set(UInt64(now))
    return keys
  }

  private func order(_ keys: KeyTable, _ count: Int = .max) -> [UInt32] {
    StampOrder.next(count, in: keys).map(\.stamp)
  }

  @Test func oldestEntriesComeFirst() {
    var random = SeededRandom(seed: 4)
    let stamps = (0..<5000).map { _ in UInt32(random.below(1 << 30)) }
    let keys = table(stamps, now: 1 << 30)
    #expect(order(keys) == stamps.sorted())
    let some = order(keys, 100)
    #expect(some.count >= 100 && some == Array(stamps.sorted().prefix(some.count)))
    #expect(order(KeyTableWriter().table) == [])
  }

  @Test func wrappedStampsKeepTheirOrder() {
    // Given before the wraparound of the clock, and after.
    let keys = table([UInt32.max - 5, 3, UInt32.max - 100, 7], now: 10)
    #expect(order(keys) == [UInt32.max - 100, UInt32.max - 5, 3, 7])
    // A stamp given during the selection.
    let later = table([5, 12], now: 10)
    #expect(order(later) == [5, 12])
  }

  @Test func oldStampsAreLiftedInTheirOrder() {
    let now: UInt32 = 0xC000_0000
    let keys = table([1, 2, 0x1000_0000, 0x4000_0001, 0xBFFF_FFFF], now: now)
    keys.liftOldStamps()
    let lifted = order(keys)
    #expect(lifted.suffix(2) == [0x4000_0001, 0xBFFF_FFFF] && Set(lifted).count == 5)
    #expect(lifted.allSatisfy { now &- $0 < 1 << 31 + 1 << 29 + 2 })
    #expect(StampOrder.next(9, in: keys).first?.hash == KeyHash(bits: 0).stored)
  }

  /// Few old stamps keep their order exactly, many to within four uses. Ages stay far from a wraparound.
  @Test(arguments: [1000, 60_000])
  func liftedStampsKeepTheirOrder(_ count: Int) {
    var random = SeededRandom(seed: 6)
    let now: UInt32 = 0x7000_0000
    let ages = (0..<count).map { _ in UInt32(random.below(Int(RecencyClock.oldestAge))) }
    var lifted = LiftedStamps(now: now)
    for age in ages { lifted.note(now &- age) }
    lifted.layOut()
    let pairs = ages.sorted().map { ($0, RecencyClock.age(of: lifted.stamp(of: now &- $0), at: now)) }
    for (a, b) in zip(pairs, pairs.dropFirst()) {
      #expect(a.1 <= b.1 && (a.1 < b.1 || b.0 - a.0 < (count < 10_000 ? 1 : 4)))
    }
    #expect(pairs.allSatisfy { $0.1 <= $0.0 && $0.1 < 1 << 31 + 1 << 29 + 2 })
    // A use after a reading is never taken for one before it, and one before it rarely for one after it.
    for _ in 0..<2000 {
      let reading = UInt32(random.below(Int(RecencyClock.oldestAge)))
      let age = RecencyClock.age(of: lifted.reading(now &- reading), at: now)
      let younger = pairs.last { $0.0 < reading }
      let older = pairs.first { $0.0 >= reading + 4 }
      #expect(younger.map { $0.1 < age } ?? true)
      #expect(older.map { $0.1 >= age } ?? true)
    }
  }

  @Test func stampsOfAThreadAreInOrderAndTakeFewSharedAdditions() {
    let clock = RecencyClock()
    clock.givesBlocks = true
    var additions = 0
    var last: UInt32 = 0
    for _ in 0..<10_000 {
      let before = clock.now
      let stamp = clock.tick()
      #expect(stamp > last && stamp <= clock.now)
      last = stamp
      if clock.now != before { additions += 1 }
    }
    // 1, 2, 4 to 64, then 64 each.
    #expect(additions <= 6 + 10_000 / 64 + 1)
    // Without blocks, each is one.
    let exact = RecencyClock()
    for expected in 1...100 as ClosedRange<UInt32> { #expect(exact.tick() == expected && exact.now == expected) }
  }

  @Test func usesOfTwoThreadsAreInOrderWhenTimeHasPassedBetween() throws {
    let clock = RecencyClock()
    clock.givesBlocks = true
    let times = SharedUseTimes()
    /// One use each, in turn, each at its own time.
    func use(at time: Int64) -> UInt32 {
      let stamp = Guarded<UInt32>(0)
      let thread = Thread {
        for _ in 0..<5 {
          times.note(time, at: clock)
          stamp.withLock { $0 = clock.tick() }
        }
      }
      thread.start()
      while !thread.isFinished { usleep(100) }
      return stamp.withLock { $0 }
    }
    var last: UInt32 = 0
    for time in 1...20 as ClosedRange<Int64> {
      times.note(time, at: clock)
      let own = clock.tick()
      let other = use(at: time)
      #expect(own > last && other > last)
      last = max(own, other)
      #expect(times.time(of: own, at: clock) == time && times.time(of: other, at: clock) == time)
    }
    // Unused stamps are skipped, no more than were given.
    #expect(clock.now <= 2 * 20 * 6 * 2)
  }

  /// The time of a recent use is exact, also if no other use follows for long.
  @Test func usesAreDatedByTheirPassedTime() throws {
    let clock = RecencyClock()
    clock.givesBlocks = true
    let times = SharedUseTimes()
    #expect(times.time(of: clock.now, at: clock) == nil)
    var uses: [(stamp: UInt32, time: Int64)] = []
    for time in [10, 10, 11, 1500, 1500, 3_600_000, 3_600_000, 7_200_000] as [Int64] {
      times.note(time, at: clock)
      uses.append((clock.tick(), time))
    }
    for (stamp, time) in uses {
      let told = try #require(times.time(of: stamp, at: clock))
      #expect(told >= time && told - time <= UseTimes.interval)
    }
    // Only time passes: the last use keeps its date.
    times.note(9_000_000, at: clock)
    #expect(times.time(of: uses.last!.stamp, at: clock) == 7_200_000)
    // The readings of a checkpoint give the same dates.
    let later = SharedUseTimes()
    later.withLock { $0 = UseTimes(times.readings(at: clock)) }
    for (stamp, _) in uses { #expect(later.time(of: stamp, at: clock) == times.time(of: stamp, at: clock)) }
    // A clock that is set back.
    times.note(5_000_000, at: clock)
    let stamp = clock.tick()
    #expect(times.time(of: stamp, at: clock) == 5_000_000)
    #expect(times.withLock { $0.readings.allSatisfy { $0.time <= 7_200_000 } })
  }

  /// Threads note, use and date at the same time: an entry that a thread has just used was used by now, and not
  /// before it began.
  @Test func datesAreRightWhileReadingsAreTaken() async {
    let clock = RecencyClock()
    clock.givesBlocks = true
    let times = SharedUseTimes()
    final class Wall: Sendable { let now = Atomic<Int64>(1) }
    let wall = Wall()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for round in 0..<20_000 {
            if round % 7 == 0 { wall.now.wrappingAdd(400, ordering: .sequentiallyConsistent) }
            let began = wall.now.load(ordering: .sequentiallyConsistent)
            times.note(began, at: clock)
            let stamp = clock.tick()
            guard let told = times.time(of: stamp, at: clock) else {
              Issue.record("not dated")
              return
            }
            #expect(told <= wall.now.load(ordering: .sequentiallyConsistent))
          }
        }
      }
    }
  }

  @Test func reportedTimesOfUseAreNeverTooOld() {
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
      // Accurate to 1 s for recent uses, and to a fraction of the age for older ones.
      #expect(told - at <= max(2 * (time - at) / 10, 6000), "\(time - at) ms ago")
    }
    #expect(times.time(of: stamp &+ 1, at: stamp &+ 1) == nil)
  }

  @Test func clockSetBackLeavesNoTimesInTheFuture() {
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

  @Test func timesOfUseSurviveWraparoundOfTheClock() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    let sliding = PutOptions(slidingExpirationMilliseconds: 100 * 3_600_000)
    var truth: [String: Int64] = [:]
    for step in 0..<12 {
      try store.put([UInt8(step)], for: "u\(step)", options: sliding)
      truth["u\(step)"] = world.clock.wallMilliseconds()
      store.probe.steps.noteUseTime()
      world.clock.advance(3_600_000)
      world.background.run()
      store.probe.setRecencyClock(store.probe.recencyCount + 1 << 30)
      world.background.run()
    }
    for (key, time) in truth {
      let told = store.probe.slot(of: CacheKey(key)).map {
        store.probe.steps.lastUse(stamp: $0.stamp, at: world.clock.wallMilliseconds())
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
