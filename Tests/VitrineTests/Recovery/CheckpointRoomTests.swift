import Testing

@testable import Vitrine

/// Rule 8: there is room for a checkpoint, and a log file for the next recovery, at any moment.
@Suite struct CheckpointRoomTests {
  @Test func aCheckpointNeverWantsForRoom() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 8 << 20))
    for number in 0..<6000 {
      try store.put([UInt8(truncatingIfNeeded: number)], for: "\(number)")
      if number % 20 == 0 { try store.checkpoint() }
    }
    #expect(store.count == 6000)
    try store.close()
  }

  @Test func theFilesOfTheIndexGrowWithinTheBudget() throws {
    let budget = 2 << 20
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: budget))
    for number in 0..<40 { try store.put(noise(60_000, UInt64(number)), for: "large \(number)") }
    let before = store.core.locked { store.core.ledger.checkpoints }
    for number in 0..<3000 {
      try store.put([UInt8(truncatingIfNeeded: number)], for: "\(number)")
      #expect(store.statistics().bytesOnDisk <= budget)
    }
    #expect(store.core.locked { store.core.ledger.checkpoints } > before && store.statistics().evictedCount > 0)
    try store.close()
  }

  @Test func oneLogFileStaysFreeForTheNextRecovery() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store", StoreOptions(byteBudget: 8 << 20))
    let wal = try #require(store.core.wal)
    var least = Int.max
    for number in 0..<3000 {
      try store.put(noise(700, UInt64(number)), for: "\(number % 400)", options: PutOptions(durability: .synced))
      least = min(least, store.core.locked { wal.freeCount })
    }
    #expect(least >= 1)
    try store.close()
  }
}
