import Testing
import VitrineSimulation

@testable import Vitrine

/// Pinned entries stay when their segment is reclaimed and no other segment has room for their copies.
@Suite struct PinnedRoomTests {
  let world = SimulatedWorld()

  private func open(_ policy: EvictionPolicy) throws -> CacheStore {
    try CacheStore.open(
      at: Workload.path, options: StoreOptions(byteBudget: 8 << 20, policy: policy), environment: world.environment)
  }

  /// Puts values that the store may refuse.
  private func put(_ name: String, _ numbers: Range<Int>, _ store: CacheStore) throws {
    for number in numbers {
      do throws(StoreError) {
        try store.put(Workload.bytes(7000, number), for: "\(name)\(number)")
      } catch {
        #expect(error == .noSpace)
      }
      if number % 50 == 0 { world.background.runAll() }
    }
  }

  private func expectToStay(_ pinned: [Int], _ store: CacheStore) throws {
    world.disk.fillUp()
    for round in 1...3 {
      try put("scan", round * 1000..<round * 1000 + 500, store)
      #expect(pinned.allSatisfy { store.bytes("k\($0)") == Workload.bytes(7000, $0) })
    }
    #expect(store.statistics().pins?.entryCount == pinned.count)
  }

  @Test(arguments: [EvictionPolicy.s3fifo, .sieve, .lru]) func pinnedEntriesStayOnAFullDisk(
    _ policy: EvictionPolicy
  ) throws {
    let store = try open(policy)
    try put("k", 0..<200, store)
    let pinned = Array(stride(from: 0, to: 200, by: 2))
    for number in pinned { try store.pin(CacheKey("k\(number)")) }
    try expectToStay(pinned, store)
    try store.close()
  }

  @Test(arguments: [EvictionPolicy.s3fifo, .sieve, .lru], [10, 32, 60]) func pinnedEntriesStayWhileBlobsHoldSegments(
    _ policy: EvictionPolicy, heldCount: Int
  ) throws {
    let store = try open(policy)
    let pinned = Array(stride(from: 0, to: 400, by: 4))
    for number in pinned {
      try store.put([1], for: "k\(number)")
      try store.pin(CacheKey("k\(number)"))
    }
    // An overwrite keeps the pin.
    try put("k", 0..<400, store)
    let blobs = (0..<heldCount).compactMap { store.blob("k\($0 * 400 / heldCount / 4 * 4 + 1)") }
    try expectToStay(pinned, store)
    withExtendedLifetime(blobs) {}
    try store.close()
  }
}
