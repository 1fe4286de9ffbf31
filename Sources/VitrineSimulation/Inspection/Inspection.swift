import Vitrine

/// Opens a disk that a crash left, and checks the contracts on it.
package struct Inspection {
  let history: History
  let keys: Set<CacheKey>
  private let moment: Int
  private let powerLost: Bool
  let verification: Verification
  /// Whether faults may have struck. If so, recovery may report problems.
  let isAfterFault: Bool
  private let harm: Harm
  /// The number of entries that may be missing without a step in the history: evicted, or lost by the disk.
  private let missingCount: Int
  private let predecessor: Predecessor?
  let extras: Extras

  /// The state of an earlier opening, all of it durable.
  package struct Predecessor {
    let contents: [CacheKey: Content]
    /// The number of its entries that may have been evicted.
    let evictedCount: Int
  }

  package init(
    history: History, moment: Int, powerLost: Bool, verification: Verification = .firstRead, isAfterFault: Bool = false,
    harm: Harm = .none, missingCount: Int = 0, predecessor: Predecessor? = nil, extras: Extras = []
  ) {
    self.history = history
    keys = history.keys
    self.moment = moment
    self.powerLost = powerLost
    self.verification = verification
    self.isAfterFault = isAfterFault
    self.harm = harm
    self.missingCount = missingCount
    self.predecessor = predecessor
    self.extras = extras
  }

  /// Returns a description of the violation, or nil.
  package func run(_ world: SimulatedWorld) -> String? {
    do {
      try check(world)
      try expectNoMisuse(world)
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

  func expectNoMisuse(_ world: SimulatedWorld) throws { try expectNothing(world.disk.misuse.first) }

  /// Runs `body` on a copy of the disk.
  private func aside(_ world: SimulatedWorld, _ body: (SimulatedWorld) throws -> Void) throws {
    let copy = world.rebooted(world.disk.copy())
    try body(copy)
    try expectNoMisuse(copy)
  }

  /// Throws if a check has returned a description of a violation.
  func expectNothing(_ wrong: String?, _ when: String = "") throws {
    if let wrong { throw Wrong(text: when + wrong) }
  }

  func open(
    _ world: SimulatedWorld, readOnly: Bool = false, _ verification: Verification? = nil
  ) throws -> CacheStore {
    var options = StoreOptions(verification: verification ?? self.verification, isReadOnly: readOnly)
    // The result of a get does not depend on the way it reads.
    if moment % 4 == 3 { options.reads = .copied }
    return try CacheStore.open(at: RecordedStore.path, options: options, environment: world.environment)
  }

  /// Returns the contents that a store has under these keys.
  static func contents(_ store: CacheStore, _ keys: Set<CacheKey>) -> [CacheKey: Content] {
    var found: [CacheKey: Content] = [:]
    for key in keys { found[key] = content(store, key) }
    return found
  }

  static func content(_ store: CacheStore, _ key: CacheKey) -> Content? {
    guard let bytes = store.bytes(key), case .found(let entry) = store.lookup(key) else { return nil }
    return Content(bytes, entry)
  }

  /// The state that a reader finds on the disk.
  struct Seen {
    let contents: [CacheKey: Content]
    /// The number of evictions in all openings of the store so far.
    let evictedCount: Int

    init(_ reader: CacheStore, _ keys: Set<CacheKey>) {
      contents = Inspection.contents(reader, keys)
      evictedCount = reader.statistics().evictedCount
    }

    /// The number of entries evicted since.
    func evictions(_ store: CacheStore) -> Int { max(0, store.statistics().evictedCount - evictedCount) }
    func hasEvicted(_ store: CacheStore) -> Bool { evictions(store) > 0 }
  }

  /// Expects that every key has its earlier content, or none as before. Up to `evictedCount` may have lost theirs.
  func expectUnchanged(
    _ found: [CacheKey: Content], _ store: CacheStore, evictedCount: Int, _ when: String
  ) throws {
    var missing = 0
    for key in keys {
      let now = Inspection.content(store, key)
      if now == found[key] { continue }
      if now == nil { missing += 1 }
      if now == nil, missing <= evictedCount { continue }
      throw Wrong(
        text: "\(key.urlText) \(found[key] == nil ? "came back" : now == nil ? "is gone" : "changed") \(when), "
          + "which has evicted \(evictedCount)")
    }
  }

  /// Expects that an enumeration and the count match the gets.
  private func expectListed(_ found: Set<CacheKey>, _ store: CacheStore) throws {
    var listed: Set<CacheKey> = []
    store.forEachEntry { entry in
      listed.insert(entry.key)
      return true
    }
    try expectNothing(found.subtracting(listed).first.map { "\($0.urlText) exists, and is not listed" })
    try expectNothing(
      listed.subtracting(found).first.map { "\($0.urlText) is listed, and has no value or was never put" })
    try expect(store.count == listed.count, "\(store.count) entries, and \(listed.count) are listed")
  }

  /// Opens the disk as a reader, and checks that it changes nothing.
  func readOnly(_ world: SimulatedWorld) throws -> Seen {
    let before = world.disk.operationCount
    let reader = try open(world, readOnly: true)
    let seen = Seen(reader, keys)
    try expect(world.disk.operationCount == before, "a reader changed the disk")
    try reader.close()
    return seen
  }

  private func expectPredecessor(_ found: [CacheKey: Content]) throws {
    guard let predecessor else { return }
    var missing = 0
    for key in keys {
      let now = found[key]
      if now == predecessor.contents[key] { continue }
      if now == nil { missing += 1 }
      if now == nil, missing <= predecessor.evictedCount { continue }
      throw Wrong(text: "\(key.urlText) differs from the durable content of the opening before this one")
    }
  }

  func judge(_ found: [CacheKey: Content], evictedSince: Int = 0) throws {
    try expectNothing(
      history.judge(
        found, crashedAfter: moment, powerLost: powerLost, harm: harm, missingCount: missingCount + evictedSince))
  }

  static let extra = CacheKey("after the crash")
  /// More than any workload's store has segments.
  private static let mostCompactionSteps = 200

  private func check(_ world: SimulatedWorld) throws {
    guard world.disk.contents("\(RecordedStore.path)/STORE") != nil else {
      // The creation was interrupted: nothing was acknowledged, and opening creates the store again.
      return try checkUnmade(world)
    }
    if harm == .pagesAreWrong { return try checkDamaged(world) }
    let seen = try readOnly(world)
    try expectPredecessor(seen.contents)
    if extras.contains(.verifiesAnyhow) { try readAnyhow(world, seen) }
    if extras.contains(.recoversTwice) { try aside(world) { try recoverTwice($0, seen) } }
    if extras.contains(.verifiesFirst) { try aside(world) { try verifyFirst($0, seen) } }
    if extras.contains(.changesFirst) { try aside(world) { try changeFirst($0, seen) } }
    if extras.contains(.opensFull) { try aside(world) { try openFull($0, seen) } }
    if extras.contains(.rebuilds) { try aside(world) { try rebuild($0, seen) } }
    // A loss of power may still take the unsynced changes that the death of a process left.
    if extras.contains(.repeatsFirst), powerLost { try aside(world) { try repeatFirst($0, seen) } }
    // A crash may restore removed files.
    let usedAtFirst = world.disk.usedByteCount
    let store = try open(world)
    let notes = store.statistics().lastOpen.notes
    try expect(notes.isEmpty || isAfterFault || extras.contains(.mayComplain), "recovery complains: \(notes)")
    let found = Inspection.contents(store, keys)
    // Records made doubtful by a failed sync are written again, which may evict other entries.
    let evictedAtOnce = isAfterFault ? seen.evictions(store) : 0
    try expectUnchanged(seen.contents, store, evictedCount: evictedAtOnce, "from a reader's findings, at once")
    try judge(seen.contents)
    try judge(found, evictedSince: evictedAtOnce)
    // Expired entries were not read, and upkeep may have to write them again first.
    if keys.allSatisfy({ store.lookup($0) != .expired }) { try expectAccounts(store, world) }
    try expectListed(Set(found.keys), store)
    // The store continues to work.
    let extra = Inspection.extra
    try store.put(RecordedStore.bytes(300, 999), for: extra, options: PutOptions(durability: .synced))
    try expectUnchanged(found, store, evictedCount: seen.evictions(store), "after a put")
    world.background.runAll()
    try store.flush()
    let report = try store.verify()
    try expect(report.isOK, "verify: \(report.damaged)")
    try expect(report.lost.isEmpty, "lost after the leftovers were checked: \(report.lost)")
    try expectUnchanged(found, store, evictedCount: seen.evictions(store), "after upkeep")
    try expectAccounts(store, world, "later: ")
    try expectInsideBudget(store, world, usedAtFirst)
    try expectNoUnknownFiles(store, world)
    if extras.contains(.compacts) {
      let (served, evicted) = (Inspection.contents(store, keys), store.statistics().evictedCount)
      var steps = 0
      _ = try store.compact { _, _ in
        steps += 1
        return steps < Inspection.mostCompactionSteps
      }
      try expect(steps < Inspection.mostCompactionSteps, "a compaction does not end")
      try expectUnchanged(served, store, evictedCount: 0, "by a compaction")
      try expect(store.statistics().evictedCount == evicted, "a compaction has evicted")
      try expectAccounts(store, world, "behind a compaction: ")
      try expectInsideBudget(store, world, usedAtFirst)
      try expectNoUnknownFiles(store, world)
    }
    let last = Inspection.contents(store, keys)
    let kept = store.bytes(extra)
    try expect(kept != nil || seen.hasEvicted(store), "the put after the crash is gone")
    try expectListed(Set(last.keys).union(kept == nil ? [] : [extra]), store)
    try store.close()
    if extras.contains(.damages) { try aside(world) { try damage($0) } }
    // A second opening finds the same.
    let again = try open(world)
    try expect(Inspection.contents(again, keys) == last, "a second opening finds something else")
    try expect(again.bytes(extra) == kept, "the put after the crash is gone")
    let kind = again.statistics().lastOpen.kind
    try expect(kind == .clean, "a clean close is not recognized: \(again.statistics().lastOpen)")
    try expectAccounts(again, world, "second opening: ")
    try repeatInterruptedChanges(again)
    try expectWell(again)
  }

  /// If the disk did not return a record when its entry was removed, its size is unknown. No entry is missing
  /// because of that.
  private var mayCountTooMuch: Bool { isAfterFault && (harm != .none || extras.contains(.mayComplain)) }

  func expectAccounts(_ store: CacheStore, _ world: SimulatedWorld, _ when: String = "") throws {
    let wrong = Accounts.check(store, besideDamage: mayCountTooMuch) {
      world.disk.byteCount("\(RecordedStore.path)/segments/\($0)")
    }
    try expectNothing(wrong, when)
  }

  func expectInsideBudget(_ store: CacheStore, _ world: SimulatedWorld, _ usedAtFirst: Int) throws {
    let (told, budget) = (store.statistics().bytesOnDisk, store.statistics().byteBudget)
    // Files that a crash restored beyond the budget are removed by the first upkeep; until then LOCK, COUNTERS
    // and USES may need one page each.
    let most = usedAtFirst > budget - 3 * Page.byteCount ? usedAtFirst + 3 * Page.byteCount : budget
    let (used, peak) = (world.disk.usedByteCount, world.disk.mostUsedByteCount)
    try expect(
      (world.disk.promisesAllocation ? used == told : used <= told) && told <= budget && peak <= most,
      "\(told) bytes told, \(used) used, \(peak) at most, in a budget of \(budget)")
  }

  private func expectNoUnknownFiles(_ store: CacheStore, _ world: SimulatedWorld) throws {
    let segments = store.statistics().segments.map { "segments/\($0.file)" }
    let index = ["0.checkpoint", "1.checkpoint", "area", "uses"].map { "checkpoints/\($0)" }
    let others = (0..<4).map { "wal/\($0).wal" } + index
    let known = Set((segments + others + Inspection.filesOfTheFolder).map { "\(RecordedStore.path)/\($0)" })
    try expectNothing(world.disk.filePaths.first { !known.contains($0) }.map { "\($0) is an unknown file" })
  }

  /// The creation was interrupted: nothing was acknowledged, and opening creates the store again.
  private func checkUnmade(_ world: SimulatedWorld) throws {
    let usedAtFirst = world.disk.usedByteCount
    let store = try open(world)
    try judge(Inspection.contents(store, keys))
    try store.put([1], for: "after", options: PutOptions(durability: .synced))
    world.background.runAll()
    try expectListed([CacheKey("after")], store)
    try expectAccounts(store, world, "made anew: ")
    try expectInsideBudget(store, world, usedAtFirst)
    try expectNoUnknownFiles(store, world)
    store.abandon()
    let again = try open(world.rebooted(world.disk.crashStates().disk(.everythingLost)))
    try expect(again.bytes("after") == [1] && again.count == 1, "made again, it does not keep a put")
  }

  private static let filesOfTheFolder = ["STORE", "LOCK", "COUNTERS", "USES", "CACHEDIR.TAG"]

  /// Repeats the changes that may have been lost; they must have the same effect as before. Returns the changes of
  /// each step, and whether they are synced.
  @discardableResult
  func repeatInterruptedChanges(_ store: CacheStore) throws -> [(changes: [History.Change], isSynced: Bool)] {
    let evictedAtFirst = store.statistics().evictedCount
    var made: [(changes: [History.Change], isSynced: Bool)] = []
    var missing = 0
    for step in history.cutOff(at: moment, powerLost: powerLost, most: 10) {
      let changes: [History.Change]
      do {
        changes = try step.again(store)
        // A repetition that changes nothing syncs nothing either.
        if !changes.isEmpty { made.append((changes, step.isSynced)) }
      } catch StoreError.tooLarge where step.hasFailed || history.hasOtherBudgets {
        continue
      } catch StoreError.noSpace where step.hasFailed || history.hasOtherBudgets && step.changes.count > 1 {
        // The batch needs more than the budget allows, as before, or more than the smaller one allows.
        continue
      } catch {
        throw Wrong(text: "\(step.changes.prefix(2)), repeated: \(error)")
      }
      for change in changes {
        switch change {
        case .put(let key, let content):
          let expected = content.hasExpired(at: history.now) ? nil : content
          let found = Inspection.content(store, key)
          if found == expected { continue }
          // Later steps may have needed its room.
          missing += 1
          let evicted = store.statistics().evictedCount - evictedAtFirst
          try expect(found == nil && missing <= evicted, "\(key.urlText) put again is missing")
        case .remove(let key):
          try expect(!store.contains(key), "\(key.urlText) removed again is not removed")
        case .removeAll:
          try expect(store.count == 0, "entries are left after the removal of everything")
        }
      }
    }
    return made
  }

  private func expectWell(_ store: CacheStore) throws {
    try store.flush()
    try expect(try store.verify().isOK, "verify finds damage after repeated changes")
    try expectNothing(
      Accounts.check(store, besideDamage: mayCountTooMuch), "after repeated changes: ")
  }
}
