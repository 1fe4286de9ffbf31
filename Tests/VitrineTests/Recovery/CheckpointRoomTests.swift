import Testing

@testable import Vitrine

/// Rule 8: there is room for a checkpoint, and a log file for the next recovery, at any moment.
@Suite struct CheckpointRoomTests {
  @Test func checkpointAlwaysHasRoom() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 8 << 20))
    for number in 0..<6000 {
      try store.put([UInt8(truncatingIfNeeded: number)], for: "\(number)")
      if number % 20 == 0 { try store.checkpoint() }
    }
    #expect(store.count == 6000)
    try store.close()
  }

  /// A process that died while the older file grew may have left its new length in memory only.
  @Test func anOpeningSyncsBothCheckpointFiles() throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    try store.put([1], for: "k")
    try store.close()
    let synced = Guarded<Set<String>>([])
    disk.onSync.withLock { hook in hook = { path in _ = synced.withLock { $0.insert(path) } } }
    let again = try world.open("store", StoreOptions())
    disk.onSync.withLock { $0 = nil }
    let files = synced.withLock { $0 }
    #expect(files.isSuperset(of: ["checkpoints/0.checkpoint", "checkpoints/1.checkpoint"]), "\(files)")
    try again.close()
  }

  @Test func theFilesOfTheIndexGrowWithinTheBudget() throws {
    let budget = 2 << 20
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: budget))
    for number in 0..<40 { try store.put(noise(60_000, UInt64(number)), for: "large \(number)") }
    let before = store.probe.checkpointByteCount
    for number in 0..<3000 {
      try store.put([UInt8(truncatingIfNeeded: number)], for: "\(number)")
      #expect(store.statistics().bytesOnDisk <= budget)
    }
    #expect(store.probe.checkpointByteCount > before && store.statistics().evictedCount > 0)
    try store.close()
  }

  @Test func oneLogFileStaysFreeForTheNextRecovery() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 8 << 20))
    var least = Int.max
    for number in 0..<3000 {
      try store.put(noise(700, UInt64(number)), for: "\(number % 400)", options: PutOptions(durability: .synced))
      least = min(least, store.probe.log.freeCount)
    }
    #expect(least >= 1)
    try store.close()
  }

  /// Space for them is made first, by evicting entries.
  @Test func checkpointFilesNeverExceedTheBudget() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 2 << 20))
    for number in 0..<80 { try store.put(noise(30_000, UInt64(number)), for: "large \(number)") }
    #expect(store.probe.missing(200_000) > 0)
    let before = store.statistics().evictedCount
    try store.probe.steps.growCheckpoints(moreKeys: 10_000)
    let room = store.probe.indexRoom
    #expect(room.blockCount * Piece.blockByteCount > 200_000 && store.statistics().evictedCount > before)
    #expect(store.probe.missing(0) <= 0)
    try store.close()
  }

  /// Each segment takes space in these files, also if the store has few keys.
  @Test func theFilesOfTheIndexGrowBeforeASegmentIsMade() throws {
    let options = StoreOptions(byteBudget: 64 << 20, segmentByteCount: CacheFormat.smallestSegment)
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", options)
    let before = store.probe.checkpointRoom
    while store.probe.checkpointRoom == before {
      try store.probe.steps.makeSpares(store.probe.spares.count + 1)
      try #require(store.probe.checkpointByteCount(moreSegments: 0) <= store.probe.checkpointRoom)
    }
    try store.checkpoint()
    try store.close()
  }

  /// The payloads that only a full log has are checked and synced before the store serves.
  @Test func aRecoveryLeavesALogFileFree() throws {
    let (disk, count) = try fullLog(.synced)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    #expect(store.probe.log.freeCount >= 1)
    for number in 0..<count where number >= count - 8 {
      #expect(store["\(number % 400)"] == noise(700, UInt64(number)))
    }
    try store.close()
  }

  /// If a checkpoint frees the log without that, no call waits for it.
  @Test func fullLogDoesNotForceACheckOfAllLeftovers() throws {
    let (disk, _) = try fullLog(.buffered)
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    #expect(store.probe.log.freeCount >= 1 && !store.probe.unchecked.isEmpty)
    try store.close()
  }

  /// The disk of a process that died with one log file free, and the number of its puts.
  private func fullLog(_ durability: Durability) throws -> (MemoryDisk, Int) {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 8 << 20))
    var number = 0
    while store.probe.log.freeCount > 1 || store.probe.log.room > 2048 {
      try store.put(noise(700, UInt64(number)), for: "\(number % 400)", options: PutOptions(durability: durability))
      number += 1
    }
    #expect(store.probe.log.freeCount == 1)
    store.abandon()
    return (MemoryDisk(disk.image), number)
  }
}
