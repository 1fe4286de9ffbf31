import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// The next opening writes again the data that a failed sync has left in doubt.
extension FailedSyncTests {
  /// The root in memory is not on the disk, and the log of the root before the last one has been reused. So the root
  /// has to be written again before the last one is overwritten. If the sync of the area failed, the new root has no
  /// header yet.
  @Test(arguments: [".checkpoint", "/checkpoints/area"])
  func checkpointWithAFailedSyncIsRewrittenBeforeTheOtherIsOverwritten(_ file: String) throws {
    let work = try Workload()
    var number = 0
    for _ in 0..<2 {
      for _ in 0..<2 { try work.turnLog(&number) }
      try work.checkpoint()
    }
    for _ in 0..<2 { try work.turnLog(&number) }
    try work.remove("k0", synced: true)
    work.world.disk.plan(Fault(.syncFile, on: .containing(file), .loseUnsyncedPages(5)))
    #expect { try work.store.checkpoint() } throws: { isWriteFailed($0) }
    let before = Inspection.contents(work.store, work.history.keys)
    #expect(before.count == 7)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(Inspection.contents(store, work.history.keys) == before)
    let writes = world.disk.operations.filter { $0.name == "write" && $0.path.contains("/checkpoints/") }
    #expect(writes.count > 1)
    for moment in writes.map({ $0.index + 1 }) {
      let states = world.disk.crashStates(after: moment)
      for policy in [CrashPolicy.everythingKept, .everythingLost, .onlyKept(moment - 1)] {
        let last = world.rebooted(states.disk(policy))
        let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
        #expect(Inspection.contents(again, work.history.keys) == before, "after \(moment), \(policy)")
        #expect(!again.statistics().lastOpen.mayHaveLostRemovals, "after \(moment), \(policy)")
      }
    }
  }

  @Test func rewrittenRecordsKeepAgeAndSource() throws {
    let work = try Workload()
    let (square, wide) = (Style("square")!, Style("wide")!)
    let recipe = Source([7])!
    try work.put("a", Workload.bytes(700, 1))
    try work.put("a", Workload.bytes(90, 2), style: square)
    try work.store.put(
      Workload.bytes(80, 3), for: CacheKey("a", wide),
      options: PutOptions(slidingExpirationMilliseconds: 1 << 40, source: .named(recipe)))
    func infos(_ store: CacheStore) -> [EntryInfo] {
      [Style.original, square, wide].compactMap { style in
        if case .found(let entry) = store.lookup("a", style: style) { entry } else { nil }
      }
    }
    let before = infos(work.store)
    #expect(before.count == 3 && before[1].source != nil && before[2].source == recipe)
    work.world.disk.plan(Fault(.syncFile, on: .containing("/wal/"), .fail(5)))
    #expect(throws: StoreError.self) { try work.store.flush() }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(infos(store) == before)
  }
}
