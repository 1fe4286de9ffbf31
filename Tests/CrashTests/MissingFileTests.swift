import Testing
import VitrineSimulation

@testable import Vitrine

/// The files made by a creation or an opening exist, complete and by name, if no unsynced change reaches the disk.
@Suite struct MissingFileTests {
  private static func path(_ name: String) -> String { "\(Workload.path)/\(name)" }
  private static let files =
    ["STORE", "CACHEDIR.TAG", "COUNTERS"] + (0..<4).map { "wal/\($0).wal" }
    + (0..<2).map { "checkpoints/\($0).checkpoint" }

  @Test func createdStoreIsDurableToTheLastFile() throws {
    let world = SimulatedWorld()
    var made: SimulatedDisk?
    // The moment of the rename, followed only by its own sync: an opening syncs some of it again.
    let store = try CacheStore.open(
      at: Workload.path, options: StoreOptions(byteBudget: 1 << 20), environment: world.environment)
    for moment in 1...world.disk.operationCount where made == nil {
      let disk = world.disk.crashStates(after: moment).disk(.everythingLost)
      if disk.contents(Self.path("STORE")) != nil { made = disk }
    }
    let disk = try #require(made)
    for name in Self.files {
      let (left, made) = (disk.contents(Self.path(name)), world.disk.contents(Self.path(name)))
      #expect(left != nil && left?.count == made?.count, "\(name)")
    }
    #expect(disk.contents(Self.path("CACHEDIR.TAG")) == world.disk.contents(Self.path("CACHEDIR.TAG")))
    #expect(disk.contents(Self.path("STORE")) == world.disk.contents(Self.path("STORE")))
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(), environment: world.rebooted(disk).environment)
    #expect(again.statistics().lastOpen.kind == .clean && again.statistics().byteBudget == 1 << 20)
    withExtendedLifetime(store) {}
  }

  /// The reasons for which a store can be recreated.
  enum Reason: CaseIterable {
    case nothingTellsWhatItIs
    /// All its files are intact.
    case openingsAreUsedUp

    fileprivate func arrange(_ disk: SimulatedDisk) throws {
      let checkpoints = (0..<2).map { MissingFileTests.path("checkpoints/\($0).checkpoint") }
      switch self {
      case .nothingTellsWhatItIs:
        #expect(disk.damage(MissingFileTests.path("STORE")) { $0 = [UInt8](repeating: 7, count: $0.count) })
        for path in checkpoints { #expect(disk.remove(path)) }
      case .openingsAreUsedUp:
        let headers = checkpoints.compactMap { disk.contents($0)?.withUnsafeBytes { CheckpointHeader($0) } }
        let newest = try #require(headers.indices.max { headers[$0].generation < headers[$1].generation })
        var header = headers[newest]
        header.opening = 1 << 27
        let bytes = header.encoded()
        #expect(disk.damage(checkpoints[newest]) { $0.replaceSubrange(0..<bytes.count, with: bytes) })
      }
    }
  }

  /// `recreate` is interrupted anywhere, and its repetition shows nothing of the earlier store.
  @Test(arguments: Reason.allCases) func interruptedRecreationIsCompletedByTheNextOpening(_ reason: Reason) throws {
    let work = try Workload()
    try work.put("older", Workload.bytes(3000, 1), synced: true)
    try work.checkpoint()
    try work.put("newer", Workload.bytes(3000, 3), synced: true)
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    try reason.arrange(world.disk)
    let options = StoreOptions(byteBudget: 2 << 20, whenUnusable: .recreate)
    let first = world.disk.operationCount
    let store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    let last = world.disk.operationCount
    store.abandon()
    #expect(world.disk.operations.contains { $0.name == "remove" && $0.path.hasSuffix(".segment") })
    var count = 0
    for crash in world.disk.crashes(mixtures: 1, seed: 1, maximumAlone: 3, after: Array(first...last)) {
      count += 1
      guard Thoroughness.takes(count) else { continue }
      let left = world.rebooted(crash.disk())
      let again = try CacheStore.open(at: Workload.path, options: options, environment: left.environment)
      try #require(again.count == 0 && again.byteBudget == 2 << 20, "\(crash)")
      try again.put(Workload.bytes(700, 2), for: "new", options: PutOptions(durability: .synced))
      again.abandon()
      let lost = left.rebooted(left.disk.crashStates().disk(.everythingLost))
      let last = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: lost.environment)
      #expect(last.bytes("new") == Workload.bytes(700, 2) && last.count == 1, "\(crash)")
      #expect(try last.verify().isOK, "\(crash)")
    }
    #expect(count > 100)
  }

  /// A process that finds `STORE` expects all other files, and reports missing ones as damage. In the first format, the
  /// first checkpoint has a body.
  @Test(arguments: [false, true])
  func interruptedCreationLeavesNoStoreOrAWholeOne(_ keepsFirstFormat: Bool) throws {
    let world = SimulatedWorld()
    var options = StoreOptions(byteBudget: 1 << 20)
    options.keepsFirstFormat = keepsFirstFormat
    _ = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    let last = try #require(world.disk.operations.last { $0.name == "rename" }).index + 2
    var wholeCount = 0
    for crash in world.disk.crashes(mixtures: 1, seed: 1, takesFilesAlone: false) {
      if crash.operationCount > last { break }
      let disk = crash.disk()
      if disk.contents(Self.path("STORE")) != nil {
        wholeCount += 1
        for name in Self.files { #expect(disk.contents(Self.path(name)) != nil, "\(crash): \(name)") }
      } else if disk.contents(Self.path("checkpoints/0.checkpoint"))?.prefix(8).allSatisfy({ $0 == 0 }) ?? true {
        // The folder has no file that identifies a store.
        continue
      }
      let again = try CacheStore.open(
        at: Workload.path, options: options, environment: world.rebooted(disk).environment)
      #expect(again.statistics().lastOpen.notes == [], "\(crash)")
      #expect(again.statistics().lastOpen.kind != .rebuilt && !again.statistics().lastOpen.mayHaveLostRemovals)
    }
    #expect(wholeCount > 0)
  }

  /// Another program has copied the folder of an interrupted creation. It did not sync `LOCK`.
  @Test func interruptedCreationBesideAnUnsyncedLockFileStartsAgain() throws {
    let world = SimulatedWorld()
    let lock = try world.disk.openDirectory(Workload.path, create: true).openFile(CacheFormat.lockFile, .create)
    try lock.write(LockFile.contents(isMarked: false), at: 0)
    let first = world.disk.operationCount
    let options = StoreOptions(byteBudget: 1 << 20)
    _ = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    let counters = try #require(world.disk.operations.first { $0.path == Self.path("COUNTERS") })
    let moments = Array(first...counters.index + 1)
    for crash in world.disk.crashes(mixtures: 1, seed: 1, maximumAlone: 4, takesFilesAlone: false, after: moments) {
      let left = world.rebooted(crash.disk())
      let again = try CacheStore.open(at: Workload.path, options: options, environment: left.environment)
      #expect(again.count == 0 && again.statistics().lastOpen.kind != .rebuilt, "\(crash)")
    }
  }

  /// Files that another process has left unfinished are recreated under their names, before they become a store.
  @Test func restartedCreationHasAllItsRoom() throws {
    let begun = SimulatedWorld()
    let options = StoreOptions(byteBudget: 1 << 20)
    _ = try CacheStore.open(at: Workload.path, options: options, environment: begun.environment)
    let counters = try #require(begun.disk.operations.first { $0.path == Self.path("COUNTERS") })
    for death in counters.index...counters.index + 3 {
      let world = begun.rebooted(begun.disk.crashStates(after: death).diskAfterProcessDeath())
      let first = world.disk.operationCount
      _ = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
      for moment in first...world.disk.operationCount {
        let left = world.rebooted(world.disk.crashStates(after: moment).disk(.everythingLost))
        let store = try CacheStore.open(at: Workload.path, options: options, environment: left.environment)
        try store.put([1], for: "a", options: PutOptions(durability: .synced))
        left.background.runAll()
        try store.flush()
        #expect(store.statistics().bytesOnDisk == left.disk.usedByteCount, "died after \(death), lost after \(moment)")
      }
    }
  }

  @Test(arguments: ["STORE", "wal/3.wal", "checkpoints/0.checkpoint", "checkpoints/1.checkpoint"])
  func fileRecreatedByAnOpeningIsDurable(_ name: String) throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    let path = Self.path(name)
    #expect(world.disk.remove(path))
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    #expect(store.statistics().bytesOnDisk == world.disk.usedByteCount)
    let there = try #require(world.disk.contents(path))
    let disk = world.disk.crashStates().disk(.everythingLost)
    #expect(disk.contents(path)?.count == there.count)
    if name == "STORE" { #expect(disk.contents(path) == there) }
    store.abandon()
    // Interrupted while that file has a length and no blocks yet: the next opening completes it.
    for moment in 1...world.disk.operationCount {
      let left = world.rebooted(world.disk.crashStates(after: moment).disk(.onlyBlocksLost))
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      #expect(again.bytes("a") == Workload.bytes(500, 1))
      try again.put([2], for: "b", options: PutOptions(durability: .synced))
      try again.checkpoint()
      #expect(again.statistics().bytesOnDisk >= left.disk.usedByteCount, "behind \(moment) operations")
      #expect(left.disk.misuse.isEmpty, "behind \(moment) operations")
    }
  }

  /// The opening that recreated it died before its name was durable; later writes to it are acknowledged.
  @Test func optionsAreDurableInAStoreFileOfAnotherOpening() throws {
    let work = try Workload()
    try work.close()
    var world = work.world.rebooted(work.world.disk.copy())
    #expect(world.disk.remove(Self.path("STORE")))
    _ = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    let rename = try #require(world.disk.operations.first { $0.name == "rename" })
    world = world.rebooted(world.disk.crashStates(after: rename.index + 1).diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    try store.setBudgets(entryBudget: 7)
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    #expect(again.statistics().entryBudget == 7)
  }

  /// Rule 2: if the number were lost, the next opening would use the same ones for other records.
  @Test func openingNumberIsDurableBeforeAnyRecordCarriesIt() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    let opening = store.probe.log.opening
    let disk = world.disk.crashStates().disk(.everythingLost)
    let found = (0..<4).compactMap { index in
      disk.contents(Self.path("wal/\(index).wal"))?.withUnsafeBytes { WALFileHeader($0)?.opening }
    }
    #expect(found.max() == opening)
  }

  /// An app that makes the folder itself, for example, or a process that died before the name was durable.
  @Test func storeInAnExistingFolderHasADurableName() throws {
    let world = SimulatedWorld()
    _ = try world.disk.openDirectory(Workload.path, create: true)
    #expect(world.disk.crashStates().disk(.everythingLost).export() == [:])
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    try store.put([1], for: "a", options: PutOptions(durability: .synced))
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(createsIfMissing: false), environment: last.environment)
    #expect(again.bytes("a") == [1])
  }

  /// A process makes a missing checkpoint file anew, and dies before the name of the file is durable. The next process
  /// writes its checkpoint there.
  @Test func nameOfACheckpointThatADeadProcessMadeIsMadeDurable() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let paths = (0..<2).map { Self.path("checkpoints/\($0).checkpoint") }
    let (newest, missing) = (paths[work.newestCheckpoint], paths[1 - work.newestCheckpoint])
    let making = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    #expect(making.disk.remove(missing))
    let begun = making.disk.operationCount
    let first = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: making.environment)
    first.abandon()
    let made = try #require(
      making.disk.lastOperations(since: begun).first { "\($0)".contains(missing) && $0.name == "sync" })
    let world = making.rebooted(making.disk.crashStates(after: made.index + 1).diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    var number = 0
    func turn(_ count: Int) throws {
      let use = store.probe.log.position.use
      while store.probe.log.position.use < use + UInt64(count) {
        try store.put(Workload.bytes(3000, number), for: "k", options: PutOptions(durability: .synced))
        number += 1
      }
    }
    try store.put(Workload.bytes(500, 2), for: "gone", options: PutOptions(durability: .synced))
    try store.remove("gone", durability: .synced)
    try store.checkpoint()
    // The first file of the log, which only the older checkpoint needs, is used again. A further turn would write
    // another checkpoint.
    try turn(1)
    let generations = [newest, missing].map { path in
      world.disk.contents(path)?.withUnsafeBytes { CheckpointHeader($0)?.generation } ?? 0
    }
    #expect(generations[0] < generations[1])
    store.abandon()
    let left = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    let lastOpen = again.statistics().lastOpen
    #expect(lastOpen.kind == .recovered && !lastOpen.mayHaveLostRemovals && !again.contains("gone"))
    #expect(again.bytes("a") == Workload.bytes(500, 1) && again.bytes("k") == Workload.bytes(3000, number - 1))
    again.abandon()
  }
}
