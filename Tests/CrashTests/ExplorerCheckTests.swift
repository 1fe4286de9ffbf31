import Testing
import Vitrine

@testable import VitrineSimulation

/// Each check of the explorer can fail: a history gets a change that the store never made, or the other way round.
@Suite struct ExplorerCheckTests {
  private func inspect(
    _ work: Workload, harm: Harm = .none, _ predecessor: Inspection.Predecessor? = nil
  ) -> String? {
    let moment = work.world.disk.operationCount
    return Inspection(
      history: work.history, moment: moment, powerLost: false, harm: harm, predecessor: predecessor
    ).run(work.world.rebooted(work.world.disk.copy()))
  }

  @Test func keyThatWasNeverPutIsAViolation() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    #expect(inspect(work) == nil)
    try work.store.put(Workload.bytes(90, 2), for: "foreign", options: PutOptions(durability: .synced))
    #expect(inspect(work)?.contains("foreign is listed") == true)
  }

  /// Metadata changed in memory only may be lost; their entry is as durable as before.
  @Test func missingDurableEntryIsAViolationAfterABufferedChange() throws {
    let work = try Workload()
    let (kept, lent) = (CacheKey("kept"), CacheKey("lent"))
    try work.put("kept", Workload.bytes(700, 1), synced: true)
    try work.put("lent", Workload.bytes(700, 2))
    let before = Inspection.contents(work.store, work.history.keys)
    try work.setMetadata("kept", [1])
    try work.setMetadata("lent", [2])
    let after = Inspection.contents(work.store, work.history.keys)
    func judge(_ found: [CacheKey: Content]) -> String? {
      work.history.judge(found, crashedAfter: work.world.disk.operationCount, powerLost: true)
    }
    #expect(judge(before) == nil && judge(after) == nil)
    #expect(judge([kept: after[kept]!]) == nil)
    #expect(judge([lent: after[lent]!])?.contains("kept is missing") == true)
    try work.setMetadata("lent", [3], synced: true)
    #expect(judge([kept: after[kept]!])?.contains("lent is missing") == true)
  }

  @Test func syncedChangeWithoutEffectPromisesNoDurability() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1))
    try work.batch(puts: [], synced: true)
    let moment = work.world.disk.operationCount
    #expect(work.history.judge([:], crashedAfter: moment, powerLost: true) == nil)
    try work.put("l", Workload.bytes(700, 2), synced: true)
    #expect(work.history.judge([:], crashedAfter: work.world.disk.operationCount, powerLost: true) != nil)
  }

  /// Repeated, it exceeds the present budget.
  @Test func aBatchBeyondALaterBudgetOfEntriesMayBeRefused() throws {
    let work = try Workload()
    try work.batch(puts: (0..<4).map { ("k\($0)", Workload.bytes(700, $0)) })
    try work.setEntryBudget(1)
    #expect(inspect(work) == nil)
  }

  /// An earlier eviction does not excuse a later loss.
  @Test func earlierEvictionsDoNotExcuseMissingEntries() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 1 << 20, entryBudget: 3))
    for number in 0..<6 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    work.upkeep()
    #expect(work.store.statistics().evictedCount > 0)
    #expect(inspect(work) == nil)
    let seen = Inspection.Seen(work.store, work.history.keys)
    #expect(!seen.hasEvicted(work.store))
    try work.put("k9", Workload.bytes(700, 9))
    #expect(seen.hasEvicted(work.store))
  }

  /// At most as many entries may be missing as were evicted.
  @Test func entriesMissingByEvictionAreCounted() throws {
    let work = try Workload()
    for number in 0..<4 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    var found = Inspection.contents(work.store, work.history.keys)
    func judge(_ evictedCount: Int) -> String? {
      work.history.judge(
        found, crashedAfter: work.world.disk.operationCount, powerLost: true, missingCount: evictedCount)
    }
    found[CacheKey("k1")] = nil
    #expect(judge(0)?.contains("k1 is missing") == true && judge(1) == nil)
    found[CacheKey("k2")] = nil
    #expect(judge(1)?.contains("is missing") == true && judge(2) == nil)
  }

  /// Each check that only some states get finds a planted error of the store.
  @Test func everyExtraCheckCanFail() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    try work.put("l", Workload.bytes(700, 2), synced: true)
    func look(_ extra: Inspection.Extras, _ body: (Inspection, SimulatedWorld, Inspection.Seen) throws -> Void) throws {
      let inspection = Inspection(
        history: work.history, moment: work.world.disk.operationCount, powerLost: true, extras: extra)
      func copy() -> SimulatedWorld { work.world.rebooted(work.world.disk.crashStates().disk(.everythingKept)) }
      let right = try inspection.readOnly(copy())
      try body(inspection, copy(), right)
      // The inspection must fail if the store has another value, or none.
      let before = work.store.bytes("k")
      try work.store.put([9], for: "k", options: PutOptions(durability: .synced))
      #expect(throws: Inspection.Wrong.self) { try body(inspection, copy(), right) }
      try work.store.put(before ?? [], for: "k", options: PutOptions(durability: .synced))
    }
    try look(.verifiesAnyhow) { try $0.readAnyhow($1, $2) }
    try look(.recoversTwice) { try $0.recoverTwice($1, $2) }
    try look(.opensFull) { try $0.openFull($1, $2) }
    try look(.changesFirst) { try $0.changeFirst($1, $2) }
  }

  @Test func heldBlobMustKeepItsBytes() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1))
    work.hold("k")
    try work.put("k", Workload.bytes(700, 2))
    try work.removeAll()
    try work.checkHeld()
    try work.put("k", Workload.bytes(700, 3))
    work.heldBlobs.hold("k", try #require(work.store.blob("k")), showing: Workload.bytes(700, 4))
    #expect(throws: Workload.Unexpected.self) { try work.checkHeld() }
  }

  @Test func entryDurableInAnEarlierOpeningMustBeInTheNext() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    let had = Inspection.contents(work.store, work.history.keys)
    #expect(inspect(work, .init(contents: had, evictedCount: 0)) == nil)
    // A buffered removal may be lost or not, as far as the history knows.
    try work.remove("k")
    #expect(inspect(work) == nil)
    #expect(inspect(work, .init(contents: had, evictedCount: 0))?.contains("the opening before") == true)
    #expect(inspect(work, .init(contents: had, evictedCount: 1)) == nil)
    try work.put("k", Workload.bytes(700, 2))
    #expect(inspect(work, .init(contents: had, evictedCount: 1)) != nil)
  }

  @Test func aFolderLargerThanItsBudgetIsFoundAlsoLater() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(700, 1), synced: true)
    #expect(work.overBudget == nil)
    work.noteBudget(4096)
    #expect(work.overBudget?.contains("in a budget of 4096") == true)
    work.noteBudget(1 << 20)
    #expect(work.overBudget?.contains("in a budget of 4096") == true)
  }

  /// A change is repeated by its own call, and must have the effect that the call claims.
  @Test(arguments: [true, false]) func repeatedChangeMustTakeEffect(_ isDone: Bool) throws {
    let work = try Workload()
    let bytes = Workload.bytes(700, 1)
    var calls = 0
    try work.change([.put(CacheKey("k"), Content(bytes))], synced: true) { store in
      calls += 1
      try store.put(calls == 1 || isDone ? bytes : [1], for: "k", options: PutOptions(durability: .synced))
    }
    let wrong = inspect(work)
    #expect(calls == 2 && (isDone ? wrong == nil : wrong?.contains("put again") == true))
  }

  /// With room for one entry, the later of two repeated puts evicts the earlier.
  @Test func repeatedChangeMayEvict() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 1 << 20, entryBudget: 1))
    let bytes = Workload.bytes(700, 1)
    let keys = [CacheKey("j"), CacheKey("k")]
    func again(_ store: CacheStore) throws -> [History.Change] {
      for key in keys { try store.put(bytes, for: key) }
      return keys.map { .put($0, Content(bytes)) }
    }
    try work.change([.put(keys[1], Content(bytes))], synced: true, again: again) { store in
      try store.put(bytes, for: keys[1], options: PutOptions(durability: .synced))
    }
    #expect(inspect(work) == nil)
  }

  @Test func expiryIsJudgedByEveryTimeThatTheClockHasShown() throws {
    let work = try Workload()
    let (hour, key) = (3_600_000, CacheKey("k"))
    func judge(_ found: [CacheKey: Content]) -> String? {
      work.history.judge(found, crashedAfter: work.world.disk.operationCount, powerLost: false)
    }
    var options = PutOptions(durability: .synced)
    options.expirationMilliseconds = work.now + Int64(hour)
    try work.put(key, Workload.bytes(700, 1), options: options)
    let found = Inspection.contents(work.store, [key])
    #expect(judge(found) == nil)
    #expect(judge([:])?.contains("missing") == true)
    #expect(judge([key: Content(Workload.bytes(700, 1))])?.contains("another expiry") == true)
    work.stepClock(milliseconds: 2 * hour)
    #expect(judge([:]) == nil)
    #expect(judge(found)?.contains("after its expiry") == true)
    // It may have been removed meanwhile, or not.
    work.stepClock(milliseconds: -2 * hour)
    #expect(judge([:]) == nil && judge(found) == nil)
    try work.put(key, Workload.bytes(700, 1), options: options)
    #expect(judge([:])?.contains("missing") == true)
    options.expirationMilliseconds = nil
    options.slidingExpirationMilliseconds = Int64(hour)
    try work.put(key, Workload.bytes(700, 2), options: options)
    #expect(judge([:]) != nil)
    work.stepClock(milliseconds: 2 * hour)
    #expect(judge([:]) == nil)
  }

  /// A workload that fails under a fault is judged all the same.
  @Test(arguments: [true, false]) func workloadThatFailsUnderAFaultIsInspected(_ isUnexpected: Bool) {
    let liar = CrashWorkload("liar") { store, _ in
      try store.put("k", RecordedStore.bytes(700, 1), synced: true)
      guard store.isTolerant else { return }
      if isUnexpected { throw RecordedStore.Unexpected(text: "a reader finds a value that was never put") }
      // Acknowledged, and never done.
      store.history.run([.put(CacheKey("gone"), Content([1, 2, 3]))], synced: true) {}
      throw StoreError.closed
    }
    let report = CrashExplorer(workloads: [liar], seed: 1, states: 0, faults: 20).run()
    #expect(report.violations.contains { $0.text.contains(isUnexpected ? "never put" : "gone is missing") })
  }

  @Test func aWorkloadThatFailsIsFoundAgainWithItsStory() throws {
    let failing = CrashWorkload("failing") { store, _ in
      try store.put("k", RecordedStore.bytes(700, 1), synced: true)
      throw RecordedStore.Unexpected(text: "unheard of")
    }
    let explorer = CrashExplorer(workloads: [failing], seed: 1, states: 10, faults: 0)
    let violation = try #require(explorer.run().violations.first)
    #expect(violation.text == "unheard of" && violation.story.contains { $0.contains("put 700 bytes as k") })
    #expect(try explorer.repeat(violation.place)?.text == violation.text)
  }

  @Test func passingFailureCostsNoEntry() {
    for call in [DiskCall.openFile, .map, .status] {
      for effect in [FaultInjection.Effect.interrupted, .descriptors, .memory] {
        #expect(FaultInjection(call: call, occurrence: 1, effect: effect).harm == .none)
      }
    }
  }

  /// A few states of a long round are sampled from all of it, and are the same each time.
  @Test func shortenedRoundIsASampleOfTheWhole() throws {
    let puts = try #require(CrashWorkload.all.first { $0.name == "log-turns" })
    func places() -> [String] {
      let found = Guarded<[String]>([])
      _ = CrashExplorer(workloads: [puts], seed: 5, states: 200, faults: 0, threads: 1).run { _ in
        true
      } watch: {
        if let place = $1 { found.withLock { $0.append(place) } }
      }
      return found.withLock { $0 }
    }
    let first = places()
    #expect(first == places())
    let moments = try first.map { place -> Int in
      guard case .crash(let moment, _, _) = try #require(CrashPlace(place)).event else { return 0 }
      return moment.operationCount
    }
    let looked = moments.filter { $0 > 0 }
    let (earliest, latest) = (try #require(looked.min()), try #require(looked.max()))
    // One moment has a dozen of them.
    #expect(latest - earliest > 40)
  }

  /// A slow machine may reach the time limit before some workload had its turn.
  @Test func timeLimitEndsOnlyAfterEachWorkloadHadItsTurn() {
    var explorer = CrashExplorer(
      workloads: Array(CrashWorkload.all.prefix(3)), seed: 1, states: 300, faults: 30, seconds: 0)
    #expect(explorer.run().untouched.count == 6)
    explorer.touchesAll = true
    let report = explorer.run()
    #expect(report.untouched.isEmpty)
    #expect(report.states < 300, "the limit ends the rest")
  }

  @Test func reportNamesUnreachedNumbers() {
    let explorer = CrashExplorer(workloads: Array(CrashWorkload.all.prefix(2)), seed: 1, states: 12, faults: 4)
    var report = explorer.run()
    #expect(report.shortfalls.isEmpty)
    report.statesWanted = 1_000_000
    // The sum, and each workload.
    #expect(report.shortfalls.count == 3)
  }
}
