import Testing
import Vitrine
import VitrineSimulation

/// Rule 9, and checkpoints that are damaged: never a wrong byte, never a removed key in silence.
@Suite struct DamagedLogTests {
  private func reopened(_ work: Workload, _ damage: (SimulatedDisk) -> Void) throws -> CacheStore {
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    damage(world.disk)
    return try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  @Test func aBreakBeforeWhatWasSyncedIsReportedAndNothingIsResurrected() throws {
    let work = try Workload()
    try work.put("old", Workload.bytes(500, 1), synced: true)
    try work.put("gone", Workload.bytes(500, 2), synced: true)
    let before = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    try work.put("broken", Workload.bytes(500, 3), synced: true)
    let after = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    let place = (0..<after.count).first { before[$0] != after[$0] }! + 60
    try work.remove("gone", synced: true)
    try work.put("old", Workload.bytes(500, 4), synced: true)
    try work.put("last", Workload.bytes(500, 5), synced: true)
    let store = try reopened(work) { disk in
      #expect(disk.damage("\(Workload.path)/wal/0.wal") { $0[place] ^= 1 })
    }
    #expect(store.statistics().lastOpen.mayHaveLostRemovals)
    // Whole frames behind the break touch both: neither comes back as it was.
    #expect(store.bytes("gone") == nil)
    #expect(store.bytes("old") != Workload.bytes(500, 1))
    #expect(try store.verify().isOK)
    try store.put([1], for: "works")
  }

  @Test func aTornTailIsNoDamage() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    let before = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    try work.put("b", Workload.bytes(500, 2))
    let after = work.world.disk.contents("\(Workload.path)/wal/0.wal")!
    let place = (0..<after.count).first { before[$0] != after[$0] }! + 60
    let store = try reopened(work) { disk in
      #expect(disk.damage("\(Workload.path)/wal/0.wal") { $0[place] ^= 1 })
    }
    #expect(!store.statistics().lastOpen.mayHaveLostRemovals)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    #expect(store.bytes("b") == nil)
  }

  @Test func withoutAnyCheckpointTheSegmentsTellTheIndex() throws {
    let work = try Workload()
    for number in 0..<20 { try work.put("k\(number)", Workload.bytes(800, number % 15)) }
    try work.close()
    let store = try reopened(work) { disk in
      for index in 0..<2 { #expect(disk.remove("\(Workload.path)/checkpoints/\(index).checkpoint")) }
    }
    #expect(store.statistics().lastOpen.kind == .rebuilt)
    for number in 0..<20 { #expect(store.bytes("k\(number)") == Workload.bytes(800, number % 15)) }
    #expect(Accounts.check(store) == nil)
  }

  @Test func aDamagedNewestCheckpointCostsNothing() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1))
    try work.checkpoint()
    try work.put("b", Workload.bytes(500, 2))
    try work.checkpoint()
    try work.put("c", Workload.bytes(500, 3))
    for index in 0..<2 {
      let store = try reopened(work) { disk in
        #expect(disk.damage("\(Workload.path)/checkpoints/\(index).checkpoint") { $0[4096 + 40] ^= 0x10 })
      }
      for (key, number) in [("a", 1), ("b", 2), ("c", 3)] {
        #expect(store.bytes(key) == Workload.bytes(500, number), "checkpoint \(index), \(key)")
      }
      #expect(Accounts.check(store) == nil)
    }
  }
}
