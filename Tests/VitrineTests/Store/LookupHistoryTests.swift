import Testing

@testable import Vitrine

/// The lookups of the last minute and hour.
@Suite struct LookupHistoryTests {
  /// A store is used with one lookup a second, of which each fourth misses.
  private func history(seconds: Int, from start: Int64 = 1_000_000) -> (history: LookupHistory, now: Int64) {
    var history = LookupHistory()
    for second in 0...seconds {
      history.note(.init(time: start + Int64(second) * 1000, hits: second - second / 4, misses: second / 4))
    }
    return (history, start + Int64(seconds) * 1000)
  }

  @Test(arguments: [30, 59, 60, 61, 119, 600, 3599, 3600, 3700, 20_000]) func recentLookupsAreTold(_ seconds: Int) {
    let (history, now) = history(seconds: seconds)
    #expect(history.samples.count <= 84)
    let minute = history.lastMinute(at: now)!
    let hour = history.lastHour(at: now)!
    // Samples around the beginning of the minute lie 5 s apart, older ones a minute.
    #expect((min(seconds, 60)...min(seconds, 66)).contains(minute.hitCount + minute.missCount), "\(minute)")
    #expect((min(seconds, 3600)...min(seconds, 3665)).contains(hour.hitCount + hour.missCount), "\(hour)")
    #expect(abs(minute.hitRatio - 0.75) < 0.05 && abs(hour.hitRatio - 0.75) < 0.03)
  }

  /// Pairs of gaps above a minute cannot be thinned, so there are more of them than room.
  @Test func irregularLookupsOfAnHourAreTold() {
    var history = LookupHistory()
    for number in 0...400 { history.note(.init(time: Int64(number) * 33_000, hits: number, misses: 0)) }
    #expect(history.samples.count <= 84)
    #expect((109...113).contains(history.lastHour(at: 400 * 33_000)?.hitCount ?? 0))
  }

  @Test func anIdleTimeHasNoLookups() {
    var (history, now) = history(seconds: 600)
    #expect(history.lastMinute(at: now + 66_000)?.hitCount == 0)
    #expect(history.lastHour(at: now + 1_800_000).map { $0.hitCount + $0.missCount } == 600)
    #expect(history.lastHour(at: now + 3_665_000)?.hitCount == 0)
    // The first lookups after the idle time count, and none from before.
    now += 7_200_000
    history.note(.init(time: now, hits: 457, misses: 150))
    #expect(history.lastMinute(at: now) == StoreStatistics.Lookups(hitCount: 7, missCount: 0))
    #expect(history.lastHour(at: now) == StoreStatistics.Lookups(hitCount: 7, missCount: 0))
    #expect(history.samples.count == 2)
  }

  @Test func aClockThatIsSetBackForgetsLaterSamples() {
    var (history, now) = history(seconds: 600)
    now -= 300_000
    history.note(.init(time: now, hits: 1000, misses: 0))
    #expect(history.samples.last?.time == now && history.samples.allSatisfy { $0.time <= now })
    #expect(LookupHistory().lastMinute(at: now) == nil)
    #expect(
      history.lookups(since: .min) != nil && history.lastHour(at: .min) != nil && history.lastHour(at: .max) != nil)
  }

  @Test func aStoreTellsItsLookupsToItsReadersAndToLaterOpenings() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store")
    try store.put([1], for: "k")
    for _ in 0..<50 {
      #expect(store["k"] != nil)
      _ = store["missing"]
      world.background.run()
      world.clock.advance(1000)
    }
    let all = StoreStatistics.Lookups(hitCount: 50, missCount: 50)
    #expect(store.statistics().lastMinute == all && store.statistics().lastHour == all)
    let reader = try world.openReadOnly("store", .firstRead)
    #expect(reader.statistics().lastMinute == all)
    try reader.close()
    try store.close()
    world.clock.advance(600_000)
    let again = try world.open("store", StoreOptions())
    #expect(again["k"] != nil)
    let statistics = again.statistics()
    #expect(statistics.lastMinute == StoreStatistics.Lookups(hitCount: 1, missCount: 0))
    #expect(statistics.lastHour == StoreStatistics.Lookups(hitCount: 51, missCount: 50))
    try again.close()
  }
}
