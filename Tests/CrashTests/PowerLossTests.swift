import Testing
import Vitrine

@testable import VitrineSimulation

/// Small workloads, with the power cut after every operation of the disk.
@Suite struct PowerLossTests {
  @Test func makingAStoreCanBeCutAnywhere() throws {
    let work = try Workload(isRecordedFromTheStart: true)
    try work.put("a", Workload.bytes(700, 1), synced: true)
    work.explore(mixtures: 1, maximumAlone: 2)
  }

  @Test func aFewPutsAndRemovalsSurviveEveryCrash() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    try work.put("b", Workload.bytes(900, 2))
    try work.put("a", Workload.bytes(500, 3))
    try work.remove("b", synced: true)
    try work.put("c", Workload.bytes(100, 4), synced: true)
    try work.flush()
    try work.put("a", Workload.bytes(800, 5), synced: true)
    work.explore()
  }

  @Test func largeSyncedValuesAreDurableBeforeTheirFrames() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(9000, 1), synced: true)
    try work.put("b", Workload.bytes(100_000, 2), synced: true)
    try work.put("a", Workload.bytes(12_000, 3), synced: true)
    try work.remove("b")
    work.upkeep()
    try work.put("b", Workload.bytes(80_000, 4), synced: true)
    work.explore()
  }

  @Test func sharedContentIsAsDurableAsItsLastPromise() throws {
    let work = try Workload()
    let shared = Workload.bytes(600, 1)
    try work.put("buffered", shared)
    try work.put("synced", shared, synced: true)
    try work.remove("buffered")
    try work.put("third", shared)
    try work.put("synced", Workload.bytes(50, 2))
    try work.flush()
    try work.remove("third", synced: true)
    work.explore()
  }

  @Test func newOriginalRemovesItsStylesInOneStep() throws {
    let (square, wide) = (Style("square")!, Style("wide")!)
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    try work.put("a", Workload.bytes(90, 2), style: square, synced: true)
    try work.put("a", Workload.bytes(80, 3), style: wide)
    try work.replace("a", Workload.bytes(600, 4), outdating: [square, wide], synced: true)
    try work.put("a", Workload.bytes(91, 5), style: square, synced: true)
    try work.replace("a", Workload.bytes(500, 6), outdating: [square])
    try work.put("a", Workload.bytes(92, 7), style: square)
    work.upkeep()
    try work.replace("a", Workload.bytes(50_000, 8), outdating: [square], synced: true)
    work.explore()
  }

  /// All but the last few styles are evicted before, least recently used first.
  @Test func originalThatOutdatesVeryManyStylesCanBeCutAnywhere() throws {
    let styles = (0..<600).map { Style("s\($0)")! }
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1), synced: true)
    for part in 0..<6 {
      try work.batch("a", styles: styles[part * 100..<part * 100 + 100].map { ($0, [UInt8(part)]) }, synced: true)
    }
    work.upkeep()
    work.world.disk.foldHistory()
    // The history takes the least recently used keys for the evicted ones; the original is not one of them.
    #expect(work.store.bytes("a") != nil)
    try work.replace("a", Workload.bytes(600, 2), outdating: styles, synced: true)
    try work.put("a", Workload.bytes(90, 3), style: styles[0], synced: true)
    work.explore(mixtures: 4, maximumAlone: 2)
  }

  @Test func aBatchSurvivesWholeOrNotAtAll() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(300, 1), synced: true)
    try work.batch(
      puts: [("b", Workload.bytes(400, 2)), ("c", Workload.bytes(500, 3)), ("d", Workload.bytes(500, 3))],
      removals: ["a"], synced: true)
    try work.batch(puts: [("a", Workload.bytes(10, 4)), ("b", Workload.bytes(20, 5))], removals: ["c"])
    try work.flush()
    work.explore()
  }

  @Test func aBatchLargerThanTheLogSurvivesWholeOrNotAtAll() throws {
    let work = try Workload()
    try work.put("first", Workload.bytes(300, 1), synced: true)
    let many = (0..<300).map { ("k\($0)", Workload.bytes(20, 100 + $0)) }
    try work.batch(puts: many, removals: ["first"], synced: true)
    try work.put("later", Workload.bytes(300, 2), synced: true)
    work.explore(mixtures: 2, maximumAlone: 3)
  }

  @Test func checkpointsAndLogChangesCanBeCutAnywhere() throws {
    let work = try Workload()
    // The log's files are 32 KiB: each of these fills a good part of one.
    for round in 0..<14 {
      try work.put("k\(round % 5)", Workload.bytes(3000, round), synced: round % 3 != 0)
      if round % 6 == 5 { work.upkeep() }
    }
    try work.checkpoint()
    try work.put("z", Workload.bytes(3000, 50), synced: true)
    work.explore(mixtures: 2, maximumAlone: 3)
  }

  @Test func removalOfEverythingFreesSpaceInOrder() throws {
    let work = try Workload()
    for round in 0..<4 { try work.put("k\(round)", Workload.bytes(20_000, round), synced: round == 2) }
    try work.removeAll()
    try work.put("new", Workload.bytes(500, 9), synced: true)
    work.upkeep()
    try work.put("new", Workload.bytes(600, 10))
    work.upkeep()
    work.explore(mixtures: 2, maximumAlone: 4)
  }

  /// Upkeep makes the removal durable before it unlinks the files. So after a power loss, all entries exist, or none.
  @Test func removalOfEverythingIsDurableBeforeItsFilesAreUnlinked() throws {
    let work = try Workload()
    for number in 0..<5 { try work.put("k\(number)", Workload.bytes(20_000, number), synced: true) }
    let before = Inspection.contents(work.store, work.history.keys)
    let begun = work.world.disk.operationCount
    try work.removeAll()
    work.upkeep()
    let unlinked = work.world.disk.operations.filter { $0.index >= begun && $0.name == "remove" }
    #expect(before.count == 5 && !unlinked.isEmpty)
    for operation in unlinked {
      let disk = work.world.disk.crashStates(after: operation.index + 1).disk(.onlyNamesKept)
      let store = try CacheStore.open(
        at: Workload.path, options: StoreOptions(), environment: work.world.rebooted(disk).environment)
      let found = Inspection.contents(store, work.history.keys)
      #expect(found.isEmpty || found == before, "after \(operation)")
    }
  }

  @Test func closingAndOpeningCanBeCutAnywhere() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1))
    try work.reopen()
    try work.put("b", Workload.bytes(700, 2))
    try work.put("a", Workload.bytes(100, 3), synced: true)
    try work.reopen()
    try work.put("c", Workload.bytes(700, 4))
    try work.close()
    work.explore()
  }

  @Test func everyModeOfVerificationServesOnlyPutBytes() throws {
    for verification in [Verification.always, .never] {
      let work = try Workload()
      try work.put("a", Workload.bytes(700, 1))
      try work.put("b", Workload.bytes(700, 1))
      try work.put("a", Workload.bytes(900, 2))
      try work.flush()
      try work.put("b", Workload.bytes(400, 3))
      try work.checkpoint()
      try work.put("a", Workload.bytes(901, 4))
      work.explore(verification: verification)
    }
  }

  /// Rule 3: the shared payload is durable before the frame of the synced put is.
  @Test func syncedOverwriteThatSharesBytesReadsAsBeforeOrAfter() throws {
    let work = try Workload()
    let (before, after) = (Workload.bytes(600, 1), Workload.bytes(600, 2))
    try work.put("key", before, synced: true)
    try work.put("buffered", after)
    work.markBeginning()
    try work.put("key", after, synced: true)
    for crash in work.crashes(mixtures: 3, seed: 7, maximumAlone: 6) {
      let store = try CacheStore.open(
        at: Workload.path, options: StoreOptions(), environment: work.world.rebooted(crash.disk()).environment)
      let found = store.bytes("key")
      #expect(found == before || found == after, "\(crash)")
    }
  }
}
