import Testing
import VitrineSimulation

@testable import Vitrine

/// If the newest checkpoint cannot be read, the older one counts only with its whole log.
@Suite struct OlderCheckpointTests {
  /// The log that continues from the older checkpoint has been reused since.
  @Test func olderCheckpointWithoutItsLogIsNotUsed() throws {
    let work = try Workload()
    var number = 0
    func turn() throws {
      for _ in 0..<18 {
        try work.put("k\(number % 7)", Workload.bytes(2500, number), synced: true)
        number += 1
      }
    }
    try work.put("gone", Workload.bytes(500, 1_000_000), synced: true)
    try work.checkpoint()
    try work.remove("gone", synced: true)
    try turn()
    try work.checkpoint()
    try turn()
    try turn()
    let last = (0..<7).map { work.store.bytes("k\($0)") }
    let newest = work.newestCheckpoint
    let store = try work.reopened { disk in
      #expect(disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[4096 + 40] ^= 0x10 })
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    for key in 0..<7 { #expect(store.bytes("k\(key)") == last[key]) }
    #expect(Accounts.check(store) == nil)
  }

  /// The checkpoint of a session without changes stands at the start of its log file. An opening that cannot read it
  /// goes back to the older checkpoint. Its changes must be found by an opening that can read both.
  @Test(arguments: [DiskCall.status, .read])
  func checkpointThatCannotBeReadOnceHidesNoLaterChange(_ call: DiskCall) throws {
    for occurrence in 1...12 {
      let work = try Workload()
      try work.put("a", Workload.bytes(500, 1), synced: true)
      try work.reopen()
      try work.reopen()
      try work.close()
      let world = work.world.rebooted(work.world.disk.copy())
      let newest = work.newestCheckpoint
      world.disk.plan(Fault(call, on: .containing("checkpoints/\(newest)"), occurrence: occurrence, .fail(5)))
      guard let store = try? CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      else { continue }
      try store.put(Workload.bytes(300, 2), for: "b", options: PutOptions(durability: .synced))
      store.abandon()
      let later = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: later.environment)
      #expect(again.bytes("a") == Workload.bytes(500, 1) && again.bytes("b") == Workload.bytes(300, 2))
      #expect(!again.statistics().lastOpen.mayHaveLostRemovals)
    }
  }

  /// A close cuts a log that has grown. An opening that cannot read the newest checkpoint goes back to the older one,
  /// whose part of the log is gone: it must not take a beginning of that part for all of it.
  @Test(arguments: [DiskCall.status, .read])
  func checkpointThatCannotBeReadOnceBringsNoOldValueBack(_ call: DiskCall) throws {
    for occurrence in 1...12 {
      let work = try Workload()
      try work.store.growLog()
      try work.put("a", Workload.bytes(500, 1))
      try work.store.checkpoint()
      for number in 0..<300 { try work.put("k\(number)", Workload.bytes(40, 10 + number)) }
      try work.put("a", Workload.bytes(500, 2), synced: true)
      let long = work.world.disk.contents("\(Workload.path)/wal/0.wal")?.count ?? 0
      try work.close()
      #expect(work.world.disk.contents("\(Workload.path)/wal/0.wal")?.count ?? 0 < long)
      let world = work.world.rebooted(work.world.disk.copy())
      let newest = work.newestCheckpoint
      world.disk.plan(Fault(call, on: .containing("checkpoints/\(newest)"), occurrence: occurrence, .fail(5)))
      guard let store = try? CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      else { continue }
      #expect(store.bytes("a") == nil || store.bytes("a") == Workload.bytes(500, 2))
      store.abandon()
    }
  }

  /// The checkpoint of a new store stands before the first use of the log. If the file of that use was used again, the
  /// checkpoint tells of no entry, and the log behind it is missing.
  @Test func firstCheckpointDoesNotHideThatItsLogIsMissing() throws {
    for damagesHeader in [true, false] {
      let work = try Workload()
      try work.put("a", Workload.bytes(500, 1), synced: true)
      try work.reopen()
      let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
      let newest = work.newestCheckpoint
      #expect(work.generation(ofCheckpoint: 1 - newest) == 1)
      #expect(world.disk.damage(Workload.log) { bytes in for index in bytes.indices { bytes[index] = 0 } })
      #expect(
        world.disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[damagesHeader ? 20 : 4200] ^= 1 })
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("a") == Workload.bytes(500, 1) && store.statistics().lastOpen.mayHaveLostRemovals)
      store.abandon()
    }
  }

  /// A batch larger than a log file is committed by a checkpoint, so no frame tells that the older one lacks it.
  @Test(arguments: [20, 4200])
  func olderCheckpointDoesNotHideABatchWithoutAFrame(_ place: Int) throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.checkpoint()
    let batch = (0..<2000).map { number in
      (key: CacheKey(number == 0 ? "a" : "b\(number)"), bytes: Workload.bytes(40, 10 + number), options: PutOptions())
    }
    let use = work.store.probe.log.position.use
    try work.store.putMany(batch, durability: .synced)
    let newest = work.newestCheckpoint
    let store = try work.reopened { disk in
      #expect(disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[place] ^= 1 })
      // The log has grown and continues in its next file. If the process dies before, that file is blank.
      #expect(work.store.probe.log.position.use == use + 1)
      #expect(disk.damage("\(Workload.path)/wal/1.wal") { bytes in for index in 0..<512 { bytes[index] = 0 } })
    }
    #expect(store.bytes("a") == Workload.bytes(40, 10) && store.statistics().lastOpen.kind == .rebuilt)
    store.abandon()
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    #expect(world.disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[place] ^= 1 })
    #expect(world.disk.damage("\(Workload.path)/wal/1.wal") { bytes in for index in 0..<512 { bytes[index] = 0 } })
    let cut = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(cut.bytes("a") == Workload.bytes(40, 10))
    cut.abandon()
  }

  /// Nothing behind the last frame before the newest checkpoint tells that it was durable, except that checkpoint.
  @Test func logMustReachTheNewestCheckpointIfItsBodyIsDamaged() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.checkpoint()
    let last = try work.placeOfFrame { try work.put("a", Workload.bytes(500, 2)) }
    try work.checkpoint()
    let newest = work.newestCheckpoint
    let store = try work.reopened { disk in
      #expect(disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[4200] ^= 1 })
      #expect(disk.damage(Workload.log) { $0[last + 60] ^= 1 })
    }
    #expect(store.bytes("a") == Workload.bytes(500, 2) && store.statistics().lastOpen.mayHaveLostRemovals)
    store.abandon()
  }

  /// No header tells how far the log must reach, so nothing may lie behind its end.
  @Test func logOfACheckpointThatMayBeOlderHasNothingBehindItsEnd() throws {
    for continuesInNextFile in [true, false] {
      let work = try Workload()
      try work.put("a", Workload.bytes(500, 1), synced: true)
      try work.checkpoint()
      let broken = try work.placeOfFrame { try work.put("a", Workload.bytes(500, 2)) }
      var number = 0
      while try work.placeOfFrame({ try work.put("b\(number)", Workload.bytes(40, 10 + number)) }) > 0,
        continuesInNextFile
      {
        number += 1
      }
      try work.checkpoint()
      let newest = work.newestCheckpoint
      let store = try work.reopened { disk in
        #expect(disk.damage("\(Workload.path)/checkpoints/\(newest).checkpoint") { $0[20] ^= 1 })
        #expect(disk.damage(Workload.log) { $0[broken + 60] ^= 1 })
        guard continuesInNextFile else { return }
        #expect(
          disk.damage(Workload.log) { bytes in for index in broken..<bytes.count { bytes[index] = 0 } })
      }
      #expect(store.bytes("a") == Workload.bytes(500, 2) && store.statistics().lastOpen.mayHaveLostRemovals)
      store.abandon()
    }
  }

  /// Makes both checkpoints unreadable.
  private static func damageHeaders(_ disk: SimulatedDisk) {
    for index in 0..<2 { #expect(disk.damage("\(Workload.path)/checkpoints/\(index).checkpoint") { $0[20] ^= 1 }) }
  }

  /// A rebuild begins a log of its own, in a file that the unreadable checkpoints may need. It dies before its
  /// checkpoint, and then the newest checkpoint can be read again.
  @Test func interruptedRebuildIsBegunAgain() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    var number = 0
    for _ in 0..<3 { try work.turnLog(&number) }
    try work.checkpoint()
    while work.store.probe.log.active?.file.name != "0.wal" { try work.turnLog(&number) }
    try work.put("a", Workload.bytes(500, 2), synced: true)
    let rebuilt = try work.reopened(Self.damageHeaders)
    #expect(rebuilt.probe.log.active?.file.name == "0.wal" && rebuilt.bytes("a") == Workload.bytes(500, 2))
    let written = try #require(rebuilt.probe.log.active?.header).encoded()
    rebuilt.abandon()
    for missing in [false, true] {
      let store = try work.reopened { disk in
        #expect(disk.damage(Workload.log) { $0.replaceSubrange(0..<written.count, with: written) })
        if missing { #expect(disk.remove("\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint")) }
      }
      #expect(store.statistics().lastOpen.kind == .rebuilt && store.bytes("a") == Workload.bytes(500, 2))
      store.abandon()
    }
  }

  /// A power loss takes a frame and leaves the removal behind it, which therefore does not count.
  @Test func rebuildIgnoresARemovalOfEverythingBehindACut() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let lost = try work.placeOfFrame { try work.put("b", Workload.bytes(500, 2)) }
    try work.store.removeAll()
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    #expect(world.disk.damage(Workload.log) { $0[lost + 60] ^= 1 })
    let second = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(second.bytes("a") == Workload.bytes(500, 1) && !second.statistics().lastOpen.mayHaveLostRemovals)
    try second.put(Workload.bytes(500, 3), for: "c", options: PutOptions(durability: .synced))
    second.abandon()
    let last = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    Self.damageHeaders(last.disk)
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    #expect(store.bytes("a") == Workload.bytes(500, 1) && store.bytes("c") == Workload.bytes(500, 3))
    store.abandon()
  }

  /// A rebuild reads the removal in the log.
  @Test func rebuildDoesNotBringBackEntriesRemovedWithAll() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.reopen()
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    try work.removeAll(synced: true)
    try work.put("last", Workload.bytes(500, 3), synced: true)
    let store = try work.reopened(Self.damageHeaders)
    #expect(store.statistics().lastOpen.kind == .rebuilt && store.bytes("last") == Workload.bytes(500, 3))
    #expect(store.bytes("old") == nil && store.bytes("gone") == nil)
    store.abandon()
  }

  /// A header lies in two sectors. Power is lost while the first checkpoint of a file is written: that is no damage,
  /// and frames that are lost behind its position neither.
  @Test(arguments: [0..<512, 512..<1024])
  func headerCutOffByALossOfPowerIsNoDamage(_ kept: Range<Int>) throws {
    let (work, lost) = try checkpointBeforeALostFrame()
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { $0[lost + 60] ^= 1 })
      #expect(
        disk.damage("\(Workload.path)/checkpoints/1.checkpoint") { bytes in
          for index in 0..<1024 where !kept.contains(index) { bytes[index] = 0 }
        })
    }
    let lastOpen = store.statistics().lastOpen
    #expect(lastOpen.kind == .recovered && !lastOpen.mayHaveLostRemovals && store.bytes("gone") == nil)
    store.abandon()
  }

  @Test(arguments: [20, 164, 300, 508, 600])
  func flippedBitInAHeaderIsDamage(_ place: Int) throws {
    let (work, lost) = try checkpointBeforeALostFrame()
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { $0[lost + 60] ^= 1 })
      #expect(disk.damage("\(Workload.path)/checkpoints/1.checkpoint") { $0[place] ^= 1 })
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    store.abandon()
  }

  /// The first sector of a header that was cut off tells how far the log was durable.
  @Test func logMustReachThePositionInAHeaderThatWasCutOff() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let last = try work.placeOfFrame { try work.put("a", Workload.bytes(500, 2)) }
    try work.checkpoint()
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { $0[last + 60] ^= 1 })
      #expect(
        disk.damage("\(Workload.path)/checkpoints/1.checkpoint") { bytes in
          for index in 512..<1024 { bytes[index] = 0 }
        })
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt && store.bytes("a") == Workload.bytes(500, 2))
    store.abandon()
  }

  /// The first checkpoint in the second file, and two frames behind its position, of which the first one gets lost.
  private func checkpointBeforeALostFrame() throws -> (Workload, lost: Int) {
    let work = try Workload()
    try work.put("gone", Workload.bytes(500, 1), synced: true)
    try work.remove("gone", synced: true)
    try work.checkpoint()
    #expect(work.newestCheckpoint == 1)
    let lost = try work.placeOfFrame { try work.put("a", Workload.bytes(500, 2)) }
    try work.put("b", Workload.bytes(500, 3))
    return (work, lost)
  }

  /// The older checkpoint is refused, and the opening dies before the log tells that a rebuild has begun. The newest
  /// checkpoint must still be there, so that the next opening refuses the older one too.
  @Test func rebuildThatDiesAtItsFirstLogHeaderLeavesTheCheckpoints() throws {
    for isMissing in [false, true] {
      let work = try Workload()
      try work.put("a", Workload.bytes(500, 1), synced: true)
      try work.checkpoint()
      let last = try work.placeOfFrame { try work.put("a", Workload.bytes(500, 2)) }
      try work.put("b", Workload.bytes(500, 3))
      try work.checkpoint()
      let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
      let newest = "\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint"
      if isMissing { #expect(world.disk.remove(newest)) } else { #expect(world.disk.damage(newest) { $0[4200] ^= 1 }) }
      #expect(world.disk.damage(Workload.log) { $0[last + 60] ^= 1 })
      world.disk.plan(Fault(.write, on: .containing("/wal/"), .fail(ErrorCode.inputOutput)))
      #expect(throws: StoreError.self) {
        _ = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      }
      world.disk.removeFaults()
      let later = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: later.environment)
      #expect(store.statistics().lastOpen.kind == .rebuilt && store.bytes("a") == Workload.bytes(500, 2))
      store.abandon()
    }
  }

  /// The newest checkpoint has a batch that no frame has. It cannot be read once, and the log goes on from the older
  /// one.
  @Test func checkpointThatWasPassedOverDoesNotReturn() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.checkpoint()
    let older = work.world.disk.contents("\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint")!
    let name = "\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint"
    let batch = (0..<2000).map { (key: CacheKey("b\($0)"), bytes: Workload.bytes(40, 10 + $0), options: PutOptions()) }
    try work.store.putMany(batch, durability: .synced)
    // The process dies between the newest checkpoint and the erasure of the older one.
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    #expect(world.disk.damage(name) { $0.replaceSubrange(0..<4096, with: older[0..<4096]) })
    #expect(world.disk.damage("\(Workload.path)/wal/1.wal") { bytes in for index in 0..<512 { bytes[index] = 0 } })
    let newest = "checkpoints/\(work.newestCheckpoint)"
    var passedOver = 0
    for occurrence in 1...8 {
      let once = world.rebooted(world.disk.copy())
      once.disk.plan(Fault(.read, on: .containing(newest), occurrence: occurrence, .fail(ErrorCode.inputOutput)))
      guard let store = try? CacheStore.open(at: Workload.path, options: StoreOptions(), environment: once.environment)
      else { continue }
      once.disk.removeFaults()
      if !store.contains("b7") { passedOver += 1 }
      try store.put(Workload.bytes(500, 2), for: "a", options: PutOptions(durability: .synced))
      store.abandon()
      let last = once.rebooted(once.disk.crashStates().diskAfterProcessDeath())
      let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: last.environment)
      #expect(again.bytes("a") == Workload.bytes(500, 2), "the read number \(occurrence)")
      again.abandon()
    }
    #expect(passedOver > 0)
  }

  /// Power is lost while the checkpoint of a batch without a frame is published: its header is durable, its body is
  /// not. Its number is one above that of the log's last frame. The older checkpoint has the whole log.
  @Test func headerOfABatchWithoutAFrameAndWithoutItsBodyIsNoDamage() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.checkpoint()
    try work.put("a", Workload.bytes(500, 2), synced: true)
    let name = "\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint"
    let older = try #require(work.world.disk.contents(name))
    let batch = (0..<2000).map { (key: CacheKey("b\($0)"), bytes: Workload.bytes(40, 10 + $0), options: PutOptions()) }
    try work.store.putMany(batch, durability: .synced)
    let newest = "\(Workload.path)/checkpoints/\(work.newestCheckpoint).checkpoint"
    let store = try work.reopened { disk in
      #expect(name != newest && disk.damage(name) { $0.replaceSubrange(0..<4096, with: older[0..<4096]) })
      #expect(disk.damage(newest) { bytes in for index in 4096..<bytes.count { bytes[index] = 0 } })
      #expect(disk.damage("\(Workload.path)/wal/1.wal") { bytes in for index in 0..<512 { bytes[index] = 0 } })
    }
    let lastOpen = store.statistics().lastOpen
    #expect(lastOpen.kind == .recovered && !lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("a") == Workload.bytes(500, 2) && !store.contains("b7"))
    store.abandon()
  }

  /// A batch without a frame follows a removal of everything, which is in the log.
  @Test func rebuildKeepsABatchBehindARemovalOfEverything() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.removeAll(synced: true)
    let batch = (0..<2000).map { (key: CacheKey("b\($0)"), bytes: Workload.bytes(40, 10 + $0), options: PutOptions()) }
    try work.store.putMany(batch, durability: .synced)
    let store = try work.reopened(Self.damageHeaders)
    #expect(store.statistics().lastOpen.kind == .rebuilt && store.bytes("old") == nil)
    #expect((0..<2000).allSatisfy { store.bytes(CacheKey("b\($0)")) == Workload.bytes(40, 10 + $0) })
    store.abandon()
  }

  /// The use that the checkpoint names is missing. No other file may get its number.
  @Test func useThatACheckpointNamesIsNotUsedTwice() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.checkpoint()
    let use = work.store.probe.log.position.use
    let store = try work.reopened { disk in
      #expect(disk.damage(Workload.log) { bytes in for index in 0..<512 { bytes[index] = 0 } })
    }
    #expect(try #require(store.probe.log.active?.header).use > use)
    store.abandon()
  }
}
