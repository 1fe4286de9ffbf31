import Vitrine

/// Opens a disk that a crash left, and checks the contracts on it.
package struct Inspection {
  private let history: History
  let keys: Set<CacheKey>
  private let moment: Int
  private let powerLost: Bool
  private let verification: Verification
  /// Recovery may have something to say then.
  private let isAfterFault: Bool
  private let harm: Harm
  private let extras: Extras

  package init(
    history: History, moment: Int, powerLost: Bool, verification: Verification = .firstRead, isAfterFault: Bool = false,
    harm: Harm = .none, extras: Extras = []
  ) {
    self.history = history
    keys = history.keys
    self.moment = moment
    self.powerLost = powerLost
    self.verification = verification
    self.isAfterFault = isAfterFault
    self.harm = harm
    self.extras = extras
  }

  /// Answers what is wrong, or nil.
  package func run(_ world: SimulatedWorld) -> String? {
    do {
      try check(world)
      return nil
    } catch let wrong as Wrong {
      return wrong.text
    } catch {
      return "opening or using the store failed: \(error)"
    }
  }

  struct Wrong: Error { let text: String }

  func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Wrong(text: text()) }
  }

  /// For a check that answers what is wrong.
  private func expectNothing(_ wrong: String?, _ when: String = "") throws {
    if let wrong { throw Wrong(text: when + wrong) }
  }

  func open(_ world: SimulatedWorld, readOnly: Bool = false) throws -> CacheStore {
    try CacheStore.open(
      at: RecordedStore.path, options: StoreOptions(verification: verification, isReadOnly: readOnly),
      environment: world.environment)
  }

  /// What a store has under these keys.
  static func contents(_ store: CacheStore, _ keys: Set<CacheKey>) -> [CacheKey: Content] {
    var found: [CacheKey: Content] = [:]
    for key in keys { found[key] = content(store, key) }
    return found
  }

  static func content(_ store: CacheStore, _ key: CacheKey) -> Content? {
    guard let bytes = store.bytes(key), case .found(let entry) = store.lookup(key) else { return nil }
    return Content(bytes, metadata: entry.metadata)
  }

  /// Every key has what it had. Those that were evicted have nothing.
  private func expectUnchanged(_ found: [CacheKey: Content], _ store: CacheStore, _ when: String) throws {
    let mayBeEvicted = store.statistics().evictedCount > 0
    for (key, content) in found {
      let now = Inspection.content(store, key)
      try expect(now == content || now == nil && mayBeEvicted, "\(key.urlText) changed \(when)")
    }
  }

  /// What a reader finds in what was left. It changes nothing on the disk.
  private func readOnly(_ world: SimulatedWorld) throws -> [CacheKey: Content] {
    let before = world.disk.operationCount
    let reader = try open(world, readOnly: true)
    let found = Inspection.contents(reader, keys)
    try expect(world.disk.operationCount == before, "a reader changed the disk")
    try reader.close()
    return found
  }

  private func judge(_ found: [CacheKey: Content]) throws {
    try expectNothing(history.judge(found, crashedAfter: moment, powerLost: powerLost, harm: harm))
  }

  private func check(_ world: SimulatedWorld) throws {
    guard world.disk.contents("\(RecordedStore.path)/STORE") != nil else {
      // The making was broken off: nothing was ever acknowledged, and opening makes it anew.
      let store = try open(world)
      try store.put([1], for: "after")
      try expect(store.bytes("after") == [1], "unusable")
      return try judge([:])
    }
    if harm == .pagesAreWrong { return try checkDamaged(world) }
    let seen = try readOnly(world)
    if extras.contains(.recoversTwice) { try recoverTwice(world.rebooted(world.disk.copy()), seen) }
    if extras.contains(.changesFirst) { try changeFirst(world.rebooted(world.disk.copy()), seen) }
    if extras.contains(.rebuilds) { try rebuild(world.rebooted(world.disk.copy())) }
    // A crash may bring back files that had gone.
    let usedAtFirst = world.disk.usedByteCount
    let store = try open(world)
    let notes = store.statistics().lastOpen.notes
    try expect(notes.isEmpty || isAfterFault || extras.contains(.mayComplain), "recovery complains: \(notes)")
    let found = Inspection.contents(store, keys)
    // What a failed sync left doubtful is written anew, which may cost others their place.
    let hasEvicted = isAfterFault && store.statistics().evictedCount > 0
    try expect(
      seen == found || hasEvicted && found.allSatisfy { seen[$0.key] == $0.value },
      "a read-only opening found something else")
    try judge(seen)
    if !hasEvicted { try judge(found) }
    try expectNothing(Accounts.check(store))
    // Goes on working.
    let extra = CacheKey("after the crash")
    try store.put(RecordedStore.bytes(300, 999), for: extra, options: PutOptions(durability: .synced))
    try expectUnchanged(found, store, "after a put")
    world.background.runAll()
    try store.flush()
    let report = try store.verify()
    try expect(report.isOK, "verify: \(report.damaged)")
    try expect(report.lost.isEmpty, "lost after the leftovers were checked: \(report.lost)")
    try expectUnchanged(found, store, "behind the serving")
    try expectNothing(Accounts.check(store), "later: ")
    try expectInsideBudget(store, world, usedAtFirst)
    if extras.contains(.compacts) {
      _ = try store.compact()
      try expectUnchanged(found, store, "by a compaction")
      try expectNothing(Accounts.check(store), "behind a compaction: ")
      try expectInsideBudget(store, world, usedAtFirst)
    }
    try expectNobodysFilesAreGone(store, world)
    let last = Inspection.contents(store, keys)
    let kept = store.bytes(extra)
    try expect(kept != nil || store.statistics().evictedCount > 0, "the put after the crash is gone")
    try store.close()
    // And is the same the next time.
    let again = try open(world)
    try expect(Inspection.contents(again, keys) == last, "a second opening finds something else")
    try expect(again.bytes(extra) == kept, "the put after the crash is gone")
    let kind = again.statistics().lastOpen.kind
    try expect(kind == .clean, "a clean close is not recognised: \(again.statistics().lastOpen)")
    try expectNothing(Accounts.check(again), "second opening: ")
    try repeatWhatWasCutOff(again)
  }

  /// What is wrong on the disk may cost entries, but never gives a wrong one, and the store goes on.
  private func checkDamaged(_ world: SimulatedWorld) throws {
    try judge(try readOnly(world))
    let store = try open(world)
    try judge(Inspection.contents(store, keys))
    let extra = CacheKey("after the crash")
    let bytes = RecordedStore.bytes(300, 999)
    try store.put(bytes, for: extra, options: PutOptions(durability: .synced))
    world.background.runAll()
    _ = try store.verify()
    try store.close()
    let again = try open(world)
    try judge(Inspection.contents(again, keys))
    let kept = again.bytes(extra)
    try expect(kept == bytes || kept == nil && again.statistics().evictedCount > 0, "the put after it is gone")
    try again.close()
  }

  private func expectInsideBudget(_ store: CacheStore, _ world: SimulatedWorld, _ usedAtFirst: Int) throws {
    let (told, budget) = (store.statistics().bytesOnDisk, store.statistics().byteBudget)
    // What a crash brings back beyond the budget goes with the first upkeep; until then LOCK and COUNTERS may need a page.
    let most = usedAtFirst > budget - 2 * Page.byteCount ? usedAtFirst + 2 * Page.byteCount : budget
    let (used, peak) = (world.disk.usedByteCount, world.disk.mostUsedByteCount)
    try expect(
      told <= budget && used <= budget && peak <= most,
      "\(told) bytes told, \(used) used, \(peak) at most, in a budget of \(budget)")
  }

  private func expectNobodysFilesAreGone(_ store: CacheStore, _ world: SimulatedWorld) throws {
    let files = world.disk.filePaths.filter { $0.hasPrefix("\(RecordedStore.path)/segments/") }
    let known = Set(store.statistics().segments.map { "\(RecordedStore.path)/segments/\($0.file)" })
    if let left = files.first(where: { !known.contains($0) }) { throw Wrong(text: "\(left) is nobody's") }
  }

  /// The changes that may have been lost are made once more, and must do what they would have done.
  private func repeatWhatWasCutOff(_ store: CacheStore) throws {
    for change in history.cutOff(at: moment, last: 3) {
      switch change {
      case .put(let key, let content):
        do throws(StoreError) {
          try store.put(
            content.bytes, for: key, options: PutOptions(metadata: content.metadata, source: SourceOption.none))
        } catch {
          // The budget may have been made smaller since, or it may have been refused in the first place.
          guard case .tooLarge = error else { throw error }
          continue
        }
        try expect(Inspection.content(store, key) == content, "\(key.urlText) put once more is not there")
      case .remove(let key):
        try store.remove(key)
        try expect(!store.contains(key), "\(key.urlText) removed once more is there")
      case .removeAll:
        try store.removeAll()
        try expect(store.count == 0, "something is left behind the removal of everything")
      }
    }
    try store.flush()
    try expect(try store.verify().isOK, "verify finds damage behind changes made once more")
    try expectNothing(Accounts.check(store), "behind changes made once more: ")
  }
}
