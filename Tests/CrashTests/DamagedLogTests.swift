import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 9, and damaged checkpoints: never a wrong byte, never a removed key returned silently.
@Suite struct DamagedLogTests {
  @Test func breakBeforeSyncedFramesIsReportedAndResurrectsNoKey() throws {
    let work = try Workload()
    try work.put("untouched", Workload.bytes(500, 9), synced: true)
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    let before = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    try work.put("broken", Workload.bytes(500, 3), synced: true)
    let after = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    let place = (0..<after.count).first { before[$0] != after[$0] }! + 60
    try work.remove("gone", synced: true)
    try work.put("old", Workload.bytes(500, 4), synced: true)
    try work.put("last", Workload.bytes(500, 5), synced: true)
    let store = try work.reopened { disk in
      #expect(disk.damage("\(Workload.path)/wal/0.wal") { $0[place] ^= 1 })
    }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    // Whole frames behind the break touch both: neither returns with its earlier value.
    #expect(store.bytes("gone") == nil)
    #expect(store.bytes("old") != Workload.bytes(500, 1))
    // Keys that only frames before the break name are kept.
    #expect(store.bytes("untouched") == Workload.bytes(500, 9))
    #expect(try store.verify().isOK)
    try store.put([1], for: "works")
  }

  @Test func logOfUnknownLengthIsNotTakenForAnEmptyOne() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(500, 1), synced: true)
    try work.put("k", Workload.bytes(500, 2), synced: true)
    var openedCount = 0
    for occurrence in 1...12 {
      // An opening may fail, and the next one finds everything.
      let store = try? work.reopened { disk in
        disk.plan(Fault(.status, on: .containing("/wal/"), occurrence: occurrence, .fail(ErrorCode.inputOutput)))
      }
      guard let store else { continue }
      openedCount += 1
      let isTold = store.statistics().lastOpen.mayHaveLostRemovals
      #expect(store.bytes("k") == Workload.bytes(500, 2) || isTold, "the call number \(occurrence)")
    }
    #expect(openedCount > 0)
  }

  /// Later files do not take the numbers of a file that may be readable the next time.
  @Test func unreadableHeaderIsNotTakenForAnUnusedFile() throws {
    var toldCount = 0
    for occurrence in 1...12 {
      let work = try Workload()
      try work.put("k", Workload.bytes(500, 1), synced: true)
      let later = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
      let options = PutOptions(durability: .synced)
      let second = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: later.environment)
      try second.put(Workload.bytes(500, 2), for: "k", options: options)
      let world = later.rebooted(later.disk.crashStates().diskAfterProcessDeath())
      world.disk.plan(Fault(.read, on: .containing("/wal/"), occurrence: occurrence, .fail(ErrorCode.inputOutput)))
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      world.disk.removeFaults()
      let isTold = store.statistics().lastOpen.mayHaveLostRemovals
      if isTold { toldCount += 1 }
      let (unread, next) = (second.probe.log.active?.header, store.probe.log.active?.header)
      #expect(try #require(next).use > #require(unread).use && #require(next).opening > #require(unread).opening)
      #expect(store.bytes("k") == Workload.bytes(500, 2) || isTold, "the call number \(occurrence)")
      try store.put(Workload.bytes(500, 3), for: "k", options: options)
      let last = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.bytes("k") == Workload.bytes(500, 3), "the call number \(occurrence)")
      #expect(again.statistics().lastOpen.notes == [])
    }
    #expect(toldCount > 2)
  }

  /// The file's header is read, and from some read on nothing else of the file.
  @Test func unreadableFramesAreNotTakenForTheEndOfTheLog() throws {
    var lostCount = 0
    for first in 1...12 {
      let work = try Workload()
      try work.put("k", Workload.bytes(500, 1), synced: true)
      let store = try? work.reopened { disk in
        for occurrence in first...first + 40 {
          disk.plan(Fault(.read, on: .containing("/wal/0"), occurrence: occurrence, .fail(ErrorCode.inputOutput)))
        }
      }
      guard let store, store.bytes("k") != Workload.bytes(500, 1) else { continue }
      lostCount += 1
      #expect(store.statistics().lastOpen.mayHaveLostRemovals, "from the read number \(first) on")
    }
    #expect(lostCount > 0)
  }

  /// A header lies in one sector: no loss of power leaves half of one.
  @Test func damagedHeaderIsNotTakenForAnUnusedFile() throws {
    let work = try Workload()
    try work.put("k", Workload.bytes(500, 1), synced: true)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let second = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    try second.put(Workload.bytes(500, 2), for: "k", options: PutOptions(durability: .synced))
    for file in 0..<4 {
      let left = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
      #expect(left.disk.damage("\(Workload.path)/wal/\(file).wal") { $0[70] ^= 1 })
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      #expect(store.statistics().lastOpen.mayHaveLostRemovals, "the file \(file)")
      for crash in left.disk.crashes(mixtures: 2, seed: 1, maximumAlone: 4) {
        let cut = try CacheStore.open(
          at: Workload.path, options: StoreOptions(), environment: left.rebooted(crash.disk()).environment)
        let found = cut.bytes("k")
        #expect([nil, Workload.bytes(500, 1), Workload.bytes(500, 2)].contains(found), "\(crash)")
        #expect(cut.statistics().lastOpen.kind != .clean, "\(crash)")
        cut.abandon()
      }
      try store.close()
      // The damage is reported once.
      let last = left.rebooted(left.disk.copy())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.statistics().lastOpen.kind == .clean)
      try again.close()
    }
  }

  @Test func aRemovalOfEverythingBehindABreakIsNotUndone() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    let broken = try work.placeOfFrame { try work.put("broken", Workload.bytes(500, 2), synced: true) }
    try work.removeAll(synced: true)
    try work.put("last", Workload.bytes(500, 3), synced: true)
    let store = try work.reopened { disk in #expect(disk.damage(Workload.log) { $0[broken + 60] ^= 1 }) }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("old") == nil)
  }

  /// The break is in one file, and the removal behind it in the next.
  @Test func framesOfLaterFilesNameDistrustedKeys() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    let broken = try work.placeOfFrame { try work.put("broken", Workload.bytes(500, 3), synced: true) }
    var number = 0
    while try work.placeOfFrame({ try work.put("filler \(number)", Workload.bytes(2500, 10 + number), synced: true) })
      > 0
    {
      number += 1
    }
    try work.remove("gone", synced: true)
    try work.put("old", Workload.bytes(500, 4), synced: true)
    let store = try work.reopened { disk in #expect(disk.damage(Workload.log) { $0[broken + 60] ^= 1 }) }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("gone") == nil && store.bytes("old") != Workload.bytes(500, 1))
    #expect(try store.verify().isOK)
  }

  /// The last frame of a file is missing, and behind it only the head of the next file can be read.
  @Test func headOfTheNextFileTellsTheDurableSequence() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    var (last, number) = (0, 0)
    while true {
      let begun = try work.placeOfFrame {
        try work.put("filler \(number)", Workload.bytes(2500, 10 + number), synced: true)
      }
      if begun == 0 { break }
      last = begun
      number += 1
    }
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { $0[last + 60] ^= 1 })
      #expect(disk.damage("\(Workload.path)/wal/1.wal") { $0[512 + 60] ^= 1 })
    }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("old") == Workload.bytes(500, 1))
  }

  /// The next crash finds a log that ends cleanly at the break, and must not trust it.
  @Test func entriesDroppedForABreakStayDropped() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    let broken = try work.placeOfFrame { try work.put("broken", Workload.bytes(500, 3), synced: true) }
    try work.remove("gone", synced: true)
    try work.put("old", Workload.bytes(500, 4), synced: true)
    var world = work.world.rebooted(work.world.disk.copy())
    #expect(world.disk.damage(Workload.log) { $0[broken + 60] ^= 1 })
    for crash in 0..<3 {
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.statistics().lastOpen.mayHaveLostRemovals == (crash == 0))
      #expect(store.bytes("gone") == nil && store.bytes("old") != Workload.bytes(500, 1), "crash \(crash)")
      store.abandon()
      world = world.rebooted(world.disk.crashStates().disk(crash == 0 ? .everythingLost : .everythingKept))
    }
  }

  /// Files of a later opening may be missing: its records are not overwritten.
  @Test func storeWithoutItsLogIsNotCleanlyClosed() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1))
    try work.close()
    let later = work.world.rebooted(work.world.disk.copy())
    let second = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: later.environment)
    #expect(second.statistics().lastOpen.kind == .clean)
    try second.put(Workload.bytes(500, 2), for: "b")
    let world = later.rebooted(later.disk.copy())
    for path in world.disk.filePaths where path.contains("/wal/") { #expect(world.disk.remove(path)) }
    let before = world.disk.copy()
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    let lastOpen = store.statistics().lastOpen
    #expect(lastOpen.kind == .recovered && lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    try store.put(Workload.bytes(500, 3), for: "c")
    for path in before.filePaths where path.contains("/segments/") {
      let bytes = try #require(before.contents(path))
      let hasRecords = bytes.dropFirst(SegmentHeader.byteCount).contains { $0 != 0 }
      if hasRecords { #expect(world.disk.contents(path) == bytes, "\(path) was written to") }
    }
  }

  @Test func aTornTailIsNoDamage() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let before = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    try work.put("b", Workload.bytes(500, 2))
    let after = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    let place = (0..<after.count).first { before[$0] != after[$0] }! + 60
    let store = try work.reopened { disk in
      #expect(disk.damage("\(Workload.path)/wal/0.wal") { $0[place] ^= 1 })
    }
    #expect(!store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    #expect(store.bytes("b") == nil)
  }

  @Test func indexIsRebuiltFromSegmentsWithoutACheckpoint() throws {
    let work = try Workload()
    for number in 0..<20 { try work.put("k\(number)", Workload.bytes(800, number % 15)) }
    try work.close()
    let store = try work.reopened { disk in
      for index in 0..<2 { #expect(disk.remove("\(Workload.path)/checkpoints/\(index).checkpoint")) }
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    for number in 0..<20 { #expect(store.bytes("k\(number)") == Workload.bytes(800, number % 15)) }
    #expect(Accounts.check(store) == nil)
  }

  @Test func rebuildTakesTheNewestRecordOfAKey() throws {
    let work = try Workload()
    for number in 0..<3 { try work.put("k", Workload.bytes(800, number)) }
    try work.close()
    let store = try work.reopened { disk in
      for path in disk.filePaths where path.contains("/checkpoints/") || path.contains("/wal/") {
        #expect(disk.remove(path))
      }
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    #expect(store.bytes("k") == Workload.bytes(800, 2))
  }

  @Test func damagedNewestCheckpointLosesNoEntry() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1))
    try work.checkpoint()
    try work.put("b", Workload.bytes(500, 2))
    try work.checkpoint()
    try work.put("c", Workload.bytes(500, 3))
    for index in 0..<2 {
      let store = try work.reopened { disk in
        #expect(disk.damage("\(Workload.path)/checkpoints/\(index).checkpoint") { $0[4096 + 40] ^= 0x10 })
      }
      for (key, number) in [("a", 1), ("b", 2), ("c", 3)] {
        #expect(store.bytes(key) == Workload.bytes(500, number), "checkpoint \(index), \(key)")
      }
      #expect(Accounts.check(store) == nil)
    }
  }

  /// The opening that finds the damage dies behind its first log header, which names the break as a cut. The keys to
  /// drop are in the same file of the log, or in the next one.
  @Test(arguments: [false, true])
  func damageIsFoundAgainUntilACheckpointIsBehindIt(_ continuesInNextFile: Bool) throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    let broken = try work.placeOfFrame { try work.put("broken", Workload.bytes(500, 3), synced: true) }
    var number = 0
    if continuesInNextFile { try work.turnLog(&number) }
    try work.remove("gone", synced: true)
    try work.put("old", Workload.bytes(500, 4), synced: true)
    func damage(_ disk: SimulatedDisk) { #expect(disk.damage(Workload.log) { $0[broken + 60] ^= 1 }) }
    let first = try work.reopened(damage)
    let active = try #require(first.probe.log.active)
    first.abandon()
    let header = try #require(active.header).encoded()
    let store = try work.reopened { disk in
      damage(disk)
      let file = "\(Workload.path)/wal/\(active.file.name)"
      #expect(disk.damage(file) { $0.replaceSubrange(0..<header.count, with: header) })
    }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("gone") == nil && store.bytes("old") != Workload.bytes(500, 1))
    store.abandon()
  }

  /// The header of the log's first use cannot be read once.
  @Test func damageOfTheFirstUseIsFoundAgain() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let first = try work.reopened { disk in #expect(disk.damage(Workload.log) { $0[60] ^= 1 }) }
    let active = try #require(first.probe.log.active)
    #expect(first.statistics().lastOpen.mayHaveLostRemovals && active.header?.followsDamage == true)
    first.abandon()
    let header = try #require(active.header).encoded()
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { $0.replaceSubrange(0..<header.count, with: header) })
      guard active.file.name != "0.wal" else { return }
      #expect(
        disk.damage("\(Workload.path)/wal/\(active.file.name)") { bytes in for index in 0..<512 { bytes[index] = 0 } })
    }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    store.abandon()
  }

  /// A reader is at the break. The writer drops keys there without a frame.
  @Test func readerAtABreakLoadsTheStoreAgain() throws {
    let work = try Workload()
    try work.put("gone", Workload.bytes(500, 1), synced: true)
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    let reader = try CacheStore.open(
      at: Workload.path, options: StoreOptions(isReadOnly: true), environment: world.environment)
    let broken = try work.placeOfFrame { try work.put("broken", Workload.bytes(500, 2), synced: true) }
    try work.remove("gone", synced: true)
    let log = work.world.disk.contents(Workload.log)!
    #expect(
      world.disk.damage(Workload.log) {
        $0 = log
        $0[broken + 60] ^= 1
      })
    let writer = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(writer.statistics().lastOpen.mayHaveLostRemovals && writer.bytes("gone") == nil)
    #expect(reader.bytes("gone") != nil)
    _ = try reader.refresh()
    #expect(reader.bytes("gone") == nil)
    writer.abandon()
    try reader.close()
  }
}
