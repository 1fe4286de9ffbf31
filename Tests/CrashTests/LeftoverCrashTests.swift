import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 4: what a crash has left is checked, and brought back from the log where that has it, before anything says that it
/// is on the disk. The log's files, which alone may have it, are used again afterwards.
@Suite struct LeftoverCrashTests {
  private func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  private func afterLosingPower(_ world: SimulatedWorld) -> SimulatedWorld {
    world.rebooted(world.disk.crashStates().disk(.everythingLost))
  }

  /// After the death of the process, with one byte wrong in the payload of a value that begins so.
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

  @Test func aSyncSaysNothingOfUncheckedNeighbours() throws {
    let work = try Workload()
    for number in 0..<3 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    // Their records are in the log alone. One comes to its place when it is read, and is synced there.
    let world = afterLosingPower(work.world)
    let store = try open(world)
    #expect(store.bytes("k1") == Workload.bytes(700, 1))
    try store.flush()
    try store.checkpoint()
    let again = try open(afterLosingPower(world))
    for number in 0..<3 { #expect(again.bytes("k\(number)") == Workload.bytes(700, number), "k\(number)") }
    #expect(try again.verify().isOK)
  }

  /// It passes its check, for memory shows it.
  @Test func whatAProcessLeftInMemoryIsSyncedBeforeACheckpointVouchesForIt() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1))
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try open(world)
    try store.checkpoint()
    #expect(try open(afterLosingPower(world)).bytes("k") == Workload.bytes(9000, 1))
    // Closing would sync more.
    store.abandon()
  }

  /// Behind a loss of power the value is there, and the accounts count what its file takes.
  private func expectItsLengthIsRight(_ world: SimulatedWorld) throws {
    let left = afterLosingPower(world)
    let again = try open(left)
    #expect(again.bytes("k") == Workload.bytes(9000, 1))
    #expect(Accounts.check(again) { left.disk.byteCount("\(Workload.path)/segments/\($0)") } == nil)
  }

  /// A segment that was cut to what it holds has its length back behind a loss of power.
  @Test func aCutThatAProcessMadeIsSyncedBeforeACheckpointTellsOfIt() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    let cutting = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let first = try open(cutting)
    // It vouches for all that the segment holds, so that the next opening has nothing to check there.
    try first.core.checkLeftovers()
    try first.checkpoint()
    cutting.background.runAll()
    first.abandon()
    let cut = try #require(cutting.disk.operations.last { $0.name == "truncate" })
    let world = cutting.rebooted(cutting.disk.crashStates(after: cut.index + 1).diskAfterProcessDeath())
    let store = try open(world)
    try store.checkpoint()
    store.abandon()
    try expectItsLengthIsRight(world)
  }

  /// The same where the process goes on: its next checkpoint tells of the length.
  @Test func aCutIsSyncedBeforeACheckpointTellsOfIt() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let store = try open(world)
    try store.checkpoint()
    // Nothing but the cut is a reason to sync it once more.
    try store.flush()
    let before = world.disk.operationCount
    store.core.upkeepLock.lock()
    try store.core.trimSealedSegments()
    store.core.upkeepLock.unlock()
    #expect(world.disk.lastOperations(since: before).contains { $0.name == "truncate" })
    try store.checkpoint()
    store.abandon()
    try expectItsLengthIsRight(world)
  }

  /// A mark vouches for what ends at it, and for nothing that begins there.
  @Test func whatBeginsAtAMarkIsChecked() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    try work.checkpoint()
    try work.put("next", Workload.bytes(9000, 2))
    let world = try afterDamage(to: Workload.bytes(9000, 2), work)
    let first = try open(world)
    let core = first.core
    let place = try #require(
      (0..<KeyTable.shardCount).flatMap { core.catalog.keys.copy(shard: $0) }.map(\.location).max {
        $0.offset < $1.offset
      })
    #expect(core.catalog.segments.vouchedUpTo(place.slot) == place.offset)
    // A checkpoint that a put needs, before the unchecked records were read.
    try core.prepareCheckpoint()
    try core.locked { try core.writeCheckpointLocked(consumingSequence: true) }
    first.abandon()
    let last = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: .never), environment: last.environment)
    #expect(again.bytes("next") == nil && again.bytes("k") == Workload.bytes(9000, 1))
  }

  /// It has the index as a close would leave it; what has been written since, only a close can know.
  @Test func withoutACloseNoOpeningIsClean() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(9000, 1), synced: true)
    try work.checkpoint()
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    #expect(try open(world).statistics().lastOpen.kind == .recovered)
  }

  @Test func theCheckBehindTheServingDropsWhatFails() throws {
    let work = try Workload()
    try work.put("damaged", Workload.bytes(9000, 1))
    try work.put("whole", Workload.bytes(9000, 2))
    let world = try afterDamage(to: Workload.bytes(9000, 1), work)
    let store = try open(world)
    try store.core.checkLeftovers()
    try store.checkpoint()
    #expect(store.count == 1 && store.bytes("whole") == Workload.bytes(9000, 2))
    #expect(try store.verify().isOK)
    // What is vouched for is believed.
    let again = try CacheStore.open(
      at: Workload.path, options: StoreOptions(verification: .never), environment: afterLosingPower(world).environment)
    #expect(again.count == 1 && again.bytes("damaged") == nil)
  }

  /// Where only the log has a payload, a checkpoint brings it to its place durably, before the log's files are used again.
  @Test func checkpointKeepsWhatOnlyTheLogHadThoughItIsUnchecked() throws {
    let work = try Workload()
    for number in 0..<3 { try work.put("k\(number)", Workload.bytes(700, number), synced: true) }
    let world = afterLosingPower(work.world)
    let store = try open(world)
    try store.checkpoint()
    #expect(!store.core.unchecked.isEmpty && store.core.inline.withLock { $0.isEmpty })
    // The log's files are all used again.
    let wal = try #require(store.core.wal)
    var uses: Set<UInt64> = []
    var number = 0
    while uses.count < 6 {
      try store.put(Workload.bytes(2000, number), for: "new", options: PutOptions(durability: .synced))
      if let use = wal.active?.header?.use, uses.insert(use).inserted { try store.checkpoint() }
      number += 1
      try #require(number < 20_000)
    }
    let again = try open(afterLosingPower(world))
    for number in 0..<3 { #expect(again.bytes("k\(number)") == Workload.bytes(700, number), "k\(number)") }
    #expect(try again.verify().isOK)
    store.abandon()
  }

  /// Its own key has been removed, so no entry lies where it does.
  @Test func aPayloadThatOnlyOthersUseIsCheckedToo() throws {
    let work = try Workload()
    try work.put("first", Workload.bytes(900, 1), synced: true)
    try work.put("other", Workload.bytes(900, 1), synced: true)
    try work.remove("first", synced: true)
    let world = try afterDamage(to: Workload.bytes(900, 1), work)
    let store = try open(world)
    try store.core.checkLeftovers()
    try store.checkpoint()
    let again = try open(afterLosingPower(world))
    #expect(again.bytes("other") == Workload.bytes(900, 1))
    #expect(try again.verify().isOK)
    store.abandon()
  }

  /// What the process before has acknowledged, a flush of this one holds for too, also where a new put shares it.
  @Test(arguments: [false, true]) func aFlushHoldsForWhatTheProcessBeforeHasWritten(_ shares: Bool) throws {
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
}
