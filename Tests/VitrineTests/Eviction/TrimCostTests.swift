import Testing

@testable import Vitrine

/// A trim by a few bytes copies few records.
@Suite struct TrimCostTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  @Test(arguments: EvictionPolicy.allCases) func copiesEndAtTheSize(_ policy: EvictionPolicy) throws {
    let store = try world.open("store", StoreOptions(byteBudget: 64 << 20, policy: policy))
    for number in 0..<4000 { try store.put(noise(10_000, UInt64(number)), for: "k\(number)") }
    // A twentieth of each segment is dead.
    for number in 0..<4000 where number % 20 == 0 { try store.remove("k\(number)") }
    try store.idle()
    let before = store.statistics()
    let size = before.bytesOnDisk - 100_000
    let removed = try store.trim(toBytes: size)
    let after = store.statistics()
    #expect(after.bytesOnDisk <= size)
    // One segment of a two-hundredth of the budget, or a few smaller ones.
    #expect(after.compaction.bytesMoved - before.compaction.bytesMoved < 4 << 20)
    #expect(removed <= 10)
    try store.close()
  }
}
