import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 8: opening, removing and reading need no room; putting says so when there is none.
@Suite struct FullDiskTests {
  private func fill(_ work: Workload) -> Int {
    for number in 0..<1000 {
      do {
        try work.put("k\(number)", Workload.bytes(9000, number))
      } catch StoreError.noSpace {
        return number
      } catch {
        Issue.record("\(error)")
        return number
      }
    }
    return 1000
  }

  @Test func aFullBudgetRefusesPutsAndNothingElse() throws {
    let work = try Workload()
    let count = fill(work)
    #expect((40..<110).contains(count))
    #expect(work.store.statistics().bytesOnDisk <= work.store.byteBudget)
    for number in 0..<count { #expect(work.store.bytes("k\(number)") == Workload.bytes(9000, number)) }
    for number in 0..<count { try work.remove("k\(number)") }
    work.upkeep()
    try work.put("again", Workload.bytes(9000, 7))
    #expect(work.store.bytes("again") == Workload.bytes(9000, 7))
    #expect(Accounts.check(work.store) == nil)
  }

  @Test func aFullDiskStillOpensReadsAndRemoves() throws {
    let work = try Workload()
    for number in 0..<20 { try work.put("k\(number)", Workload.bytes(900, number), synced: true) }
    let world = work.world.rebooted(work.world.disk.crashStates().diskAfterProcessDeath())
    world.disk.fillUp(refusingNewNames: true)
    for round in 0..<6 {
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
      #expect(store.bytes("k7") == Workload.bytes(900, 7))
      #expect(try store.remove("k\(10 + round)", durability: .synced))
      if round % 2 == 0 { try store.close() } else { store.core.abandonForTests() }
    }
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(store.count == 14)
    world.disk.setCapacity(1 << 30)
    try store.put(Workload.bytes(50_000, 1), for: "room again")
    #expect(store.bytes("room again") == Workload.bytes(50_000, 1))
  }
}
