import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 4: leftovers of a crash are checked, or restored from the log, before anything vouches for them. The log's
/// files, which may have the only copy, are reused afterwards.
@Suite struct LeftoverCrashTests {
  private func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  private func afterLosingPower(_ world: SimulatedWorld) -> SimulatedWorld {
    world.rebooted(world.disk.crashStates().disk(.everythingLost))
  }

  /// After the death of the process, with one wrong byte in the payload of a value that begins like this.
  private func afterDamage(to bytes: [UInt8], _ work: Workload) throws -> SimulatedWorld {
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    for path in world.disk.filePaths where path.hasSuffix(".segment") {
      guard let range = world.disk.contents(path)?.firstRange(of: bytes) else { continue }
      #expect(world.disk.damage(path) { $0[range.lowerBound + bytes.count / 2] ^= 1 })
      return world
    }
    Issue.record("the value is nowhere")
    return world
  }

  @Test func syncDoesNotVouchForUncheckedNeighbors() throws {
    let work = try Workload()
    for number in 0..<3 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    // Only the log has their records. One is restored when it is read, and synced there.
    let world = afterLosingPower(work.world)
    let store = try open(world)
    #expect(store.bytes("k1") == Workload.bytes(700, 1))
    try store.flush()
    try store.checkpoint()
    let again = try open(afterLosingPower(world))
    for number in 0..<3 { #expect(again.bytes("k\(number)") == Workload.bytes(700, number), "k\(number)") }
    #expect(try again.verify().isOK)
  }

  /// The payload passes its check, because its pages are still in memory.
  @Test func unsyncedPagesOfADeadProcessAreSyncedBeforeACheckpointVouchesForThem() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1))
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try open(world)
    try store.checkpoint()
    #expect(try open(afterLosingPower(world)).bytes("k") == Workload.bytes(9000, 1))
    // Closing would sync more.
    store.abandon()
  }

  /// After a loss of power the value exists, and the accounts have the size of its file. The cut is durable: otherwise
  /// the blocks that the ledger counts as free would return.
  private func expectItsLengthIsRight(_ world: SimulatedWorld, _ cut: DiskOperation) throws {
    let left = afterLosingPower(world)
    #expect(left.disk.byteCount(cut.path) == world.disk.byteCount(cut.path))
    let again = try open(left)
    #expect(again.bytes("k") == Workload.bytes(9000, 1))
    #expect(Accounts.check(again) { left.disk.byteCount("\(Workload.path)/segments/\($0)") } == nil)
  }

  /// A segment that was cut to its records has its old length after a loss of power.
  @Test func cutByADeadProcessIsSyncedBeforeACheckpointRecordsIt() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    let cutting = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let first = try open(cutting)
    // The checkpoint vouches for all records of the segment, so the next opening has nothing to check in it.
    try first.probe.steps.checkLeftovers()
    try first.checkpoint()
    cutting.background.runAll()
    first.abandon()
    let cut = try #require(
      cutting.disk.operations.last { $0.name == "truncate" && $0.path.hasSuffix(".segment") })
    let world = cutting.rebooted(cutting.disk.crashStates(after: cut.index + 1).diskAfterProcessDeath())
    let store = try open(world)
    try store.checkpoint()
    store.abandon()
    try expectItsLengthIsRight(world, cut)
  }

  /// The process continues, and its next checkpoint records the length of the cut file.
  @Test func cutIsSyncedBeforeACheckpointRecordsIt() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try open(world)
    // The checkpoint vouches for all records of the segment, so the cut is the only reason to sync it again.
    try store.probe.steps.checkLeftovers()
    try store.checkpoint()
    try store.flush()
    let before = world.disk.operationCount
    try store.probe.trimSealedSegments()
    let cut = try #require(world.disk.lastOperations(since: before).last { $0.name == "truncate" })
    try store.checkpoint()
    store.abandon()
    try expectItsLengthIsRight(world, cut)
  }

  /// A mark vouches for records that end at it, and for none that begins there.
  @Test func recordThatBeginsAtAMarkIsChecked() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    try work.checkpoint()
    try work.put("next", Workload.bytes(9000, 2))
    let world = try afterDamage(to: Workload.bytes(9000, 2), work)
    let first = try open(world)
    let place = try #require(first.probe.entries.map(\.location).max { $0.offset < $1.offset })
    #expect(first.probe.mark(inSlot: place.slot) == place.offset)
    // A checkpoint that a put needs, before the unchecked records were read.
    try first.probe.steps.prepareCheckpoint()
    try first.probe.writeCheckpointForAChange()
    first.abandon()
    let last = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: .never), environment: last.environment)
    #expect(again.bytes("next") == nil && again.bytes("k") == Workload.bytes(9000, 1))
  }

  /// The checkpoint has the same index as after a close, but only a close proves that no record was written since.
  @Test func openingAfterAnUncleanEndIsNotClean() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    try work.checkpoint()
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    #expect(try open(world).statistics().lastOpen.kind == .recovered)
  }

  @Test func backgroundCheckDropsFailedRecords() throws {
    let work = try Workload()
    try work.put("damaged", Workload.bytes(9000, 1))
    try work.put("whole", Workload.bytes(9000, 2))
    let world = try afterDamage(to: Workload.bytes(9000, 1), work)
    let store = try open(world)
    try store.probe.steps.checkLeftovers()
    try store.checkpoint()
    #expect(store.count == 1 && store.bytes("whole") == Workload.bytes(9000, 2))
    #expect(try store.verify().isOK)
    // Vouched-for records are not checked.
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: .never), environment: afterLosingPower(world).environment)
    #expect(again.count == 1 && again.bytes("damaged") == nil)
  }

  /// If only the log has a payload, a checkpoint makes it durable in its place before the log's files are reused.
  @Test func checkpointKeepsUncheckedInlineRecords() throws {
    let work = try Workload()
    for number in 0..<3 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    let world = afterLosingPower(work.world)
    let store = try open(world)
    try store.checkpoint()
    #expect(!store.probe.unchecked.isEmpty && !store.probe.hasCarriedRecords)
    // The log's files are all used again.
    var uses: Set<UInt64> = []
    var number = 0
    while uses.count < 6 {
      try store.put(Workload.bytes(2000, number), for: "new", options: PutOptions(durability: .synced))
      if let use = store.probe.log.active?.header?.use, uses.insert(use).inserted { try store.checkpoint() }
      number += 1
      try #require(number < 20_000)
    }
    let again = try open(afterLosingPower(world))
    for number in 0..<3 { #expect(again.bytes("k\(number)") == Workload.bytes(700, number), "k\(number)") }
    #expect(try again.verify().isOK)
    store.abandon()
  }

  /// Its own key has been removed, so no entry names its place.
  @Test func payloadThatOnlyReferencesUseIsChecked() throws {
    let work = try Workload()
    try work.put("first", Workload.bytes(900, 1), synced: true)
    try work.put("other", Workload.bytes(900, 1), synced: true)
    try work.remove("first", synced: true)
    let world = try afterDamage(to: Workload.bytes(900, 1), work)
    let store = try open(world)
    try store.probe.steps.checkLeftovers()
    try store.checkpoint()
    let again = try open(afterLosingPower(world))
    #expect(again.bytes("other") == Workload.bytes(900, 1))
    #expect(try again.verify().isOK)
    store.abandon()
  }

  /// A flush also covers the changes that the previous process acknowledged, also if a new put shares them.
  @Test(arguments: [false, true]) func flushCoversWritesOfThePreviousProcess(_ shares: Bool) throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1))
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    if shares { try store.put(Workload.bytes(9000, 1), for: "mine") }
    try store.flush()
    let left = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    store.abandon()
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
    #expect(again.bytes("k") == Workload.bytes(9000, 1))
    #expect(again.bytes("mine") == (shares ? Workload.bytes(9000, 1) : nil))
  }

  /// Rule 7: the check of leftovers makes them durable, so a synced put may share one without a sync of its own.
  @Test func syncedPutThatSharesACheckedLeftoverIsDurable() throws {
    let work = try Workload()
    try work.put("key", Workload.bytes(9000, 1))
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try open(world)
    try store.probe.steps.checkLeftovers()
    try store.put(Workload.bytes(9000, 1), for: "sharer", options: PutOptions(durability: .synced))
    #expect(store.statistics().blobCount == 1)
    let again = try open(afterLosingPower(world))
    #expect(again.bytes("sharer") == Workload.bytes(9000, 1))
    store.abandon()
  }
}
