import Glibc
import Vitrine
import VitrineSimulation

/// Inspects a store after the kill of its writer: the contracts for the death of a process.
struct KillInspection {
  let plan: KillWriter.Plan
  let history: KillHistory
  /// A reader inspects it first.
  let readsFirst: Bool
  /// It is closed and opened again; otherwise the next writer finds it as after the death of this process.
  let closes: Bool
  private var made: [Int: MadeValue] = [:]

  init(plan: KillWriter.Plan, history: KillHistory, readsFirst: Bool, closes: Bool) {
    (self.plan, self.history, self.readsFirst, self.closes) = (plan, history, readsFirst, closes)
  }

  struct Found {
    let values: [KillValue?]
    /// Since the store was made.
    let evictedCount: Int
  }

  /// Returns the value of each key; throws a violation.
  mutating func run() throws -> Found {
    let seen = readsFirst ? try readOnly() : nil
    let store = try CacheStore.open(at: plan.store, options: plan.options)
    var found = try contents(store)
    try expect(history.judge(found, mayMiss: plan.evicts).first)
    if let seen { try expectSame(seen, found, store, "a reader found") }
    try expectSound(store)
    try store.flush()
    try expectSound(store)
    guard closes else {
      found = try contents(store)
      store.abandon()
      return Found(values: found, evictedCount: store.statistics().evictedCount)
    }
    try expectSame(found, try contents(store), store, "later there is")
    found = try contents(store)
    // A close before the background check of leftovers has ended is not clean.
    while store.probe.uncheckedCount > 0 { usleep(1000) }
    try store.close()
    let again = try CacheStore.open(at: plan.store, options: plan.options)
    let kind = again.statistics().lastOpen.kind
    try expect(kind == .clean ? nil : "a clean close is not recognized: \(kind)")
    try expectSame(found, try contents(again), again, "a second opening finds")
    found = try contents(again)
    try expectSound(again)
    try again.close()
    return Found(values: found, evictedCount: again.statistics().evictedCount)
  }

  private func expect(_ wrong: String?) throws {
    if let wrong { throw KillViolation(wrong) }
  }

  private mutating func contents(_ store: CacheStore) throws -> [KillValue?] {
    try (0..<KillKeys.count).map { try KillValue.found(store, $0, &made).get() }
  }

  /// A smaller budget may evict entries when the store is opened for writing, never before.
  private func expectSame(
    _ found: [KillValue?], _ now: [KillValue?], _ store: CacheStore, _ what: String
  ) throws {
    for key in found.indices where found[key] != now[key] && !(plan.evicts && now[key] == nil) {
      let (was, present) = (found[key]?.description ?? "nothing", now[key]?.description ?? "nothing")
      throw KillViolation("\(KillKeys.all[key].urlText): \(what) \(present), not \(was)")
    }
  }

  private mutating func readOnly() throws -> [KillValue?] {
    let reader = try CacheStore.open(
      at: plan.store, options: StoreOptions(verification: plan.verification, isReadOnly: true))
    let found = try contents(reader)
    try expect(history.judge(found, mayMiss: plan.evicts).first.map { "a reader: \($0)" })
    let statistics = reader.statistics()
    try expect(statistics.lastOpen.notes.first.map { "a reader complains: \($0)" })
    try reader.close()
    return found
  }

  private func expectSound(_ store: CacheStore) throws {
    let statistics = store.statistics()
    try expect(statistics.lastOpen.notes.first.map { "recovery complains: \($0)" })
    let given = statistics.lastOpen.droppedCount + statistics.damagedCount + statistics.lostCount
    try expect(given == 0 ? nil : "\(given) entries were given up")
    let report = try store.verify()
    try expect((report.damaged + report.lost).first.map { "verify: \($0)" })
    var names: Set<CacheKey> = []
    store.forEachEntry { entry in
      names.insert(entry.key)
      return true
    }
    try expect(names.first { KillKeys.numbers[$0] == nil }.map { "a foreign key: \($0.urlText)" })
    try expectAccounts(store)
    try expectFiles(store)
  }

  /// Contract 5. Upkeep may be moving records just now; a real error stays.
  private func expectAccounts(_ store: CacheStore) throws {
    var wrong: String?
    for _ in 0..<50 {
      wrong = Accounts.check(store)
      if wrong == nil { return }
      usleep(20_000)
    }
    try expect(wrong)
  }

  /// The disk is inside the budget and matches the ledger, and no file is unknown. Upkeep removes files that a
  /// crash left.
  private func expectFiles(_ store: CacheStore) throws {
    var wrong: String?
    for _ in 0..<100 {
      wrong = fileTrouble(store)
      if wrong == nil { return }
      usleep(20_000)
    }
    try expect(wrong)
  }

  private func fileTrouble(_ store: CacheStore) -> String? {
    let used = FolderTree.diskUsage(plan.store)
    let statistics = store.statistics()
    if used > plan.byteBudget || statistics.bytesOnDisk > plan.byteBudget {
      return "the folder takes \(used) bytes, \(statistics.bytesOnDisk) by the ledger, of \(plan.byteBudget)"
    }
    if used > statistics.bytesOnDisk {
      return "the folder takes \(used) bytes, and the ledger has \(statistics.bytesOnDisk)"
    }
    let segments = statistics.segments.map { "segments/\($0.file)" }
    let index = ["0.checkpoint", "1.checkpoint", "area", "uses"].map { "checkpoints/\($0)" }
    let others = (0..<4).map { "wal/\($0).wal" } + index
    let known = Set(segments + others + ["STORE", "LOCK", "COUNTERS", "USES", "CACHEDIR.TAG"])
    return FolderTree.files(plan.store).first { !known.contains($0) }.map { "\($0) is an unknown file" }
  }
}
