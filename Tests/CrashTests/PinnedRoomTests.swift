import Testing
import VitrineSimulation

@testable import Vitrine

/// Pinned entries stay when their segment is reclaimed and no other segment has room for their copies.
@Suite struct PinnedRoomTests {
  @Test(arguments: [EvictionPolicy.s3fifo, .sieve, .lru]) func pinnedEntriesStayOnAFullDisk(
    _ policy: EvictionPolicy
  ) throws {
    let world = SimulatedWorld()
    let store = try CacheStore.open(
      at: Workload.path, options: StoreOptions(byteBudget: 8 << 20, policy: policy), environment: world.environment)
    func put(_ name: String, _ numbers: Range<Int>) throws {
      for number in numbers {
        do throws(StoreError) {
          try store.put(Workload.bytes(7000, number), for: "\(name)\(number)")
        } catch {
          #expect(error == .noSpace)
        }
        if number % 50 == 0 { world.background.runAll() }
      }
    }
    try put("k", 0..<200)
    let pinned = Array(stride(from: 0, to: 200, by: 2))
    for number in pinned { try store.pin(CacheKey("k\(number)")) }
    world.disk.fillUp()
    for round in 1...3 {
      try put("scan", round * 1000..<round * 1000 + 500)
      #expect(pinned.allSatisfy { store.bytes("k\($0)") == Workload.bytes(7000, $0) })
    }
    #expect(store.statistics().pins?.entryCount == pinned.count)
    try store.close()
  }
}
