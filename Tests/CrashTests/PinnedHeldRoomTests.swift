import Testing
import VitrineSimulation

@testable import Vitrine

/// Pinned entries stay on a full disk when Blobs hold the segments that would take their copies.
@Suite struct PinnedHeldRoomTests {
  @Test(arguments: [EvictionPolicy.s3fifo, .sieve, .lru], [10, 32, 60]) func pinnedEntriesStay(
    _ policy: EvictionPolicy, heldCount: Int
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
    let pinned = Array(stride(from: 0, to: 400, by: 4))
    for number in pinned {
      try store.put([1], for: "k\(number)")
      try store.pin(CacheKey("k\(number)"))
    }
    // An overwrite keeps the pin.
    try put("k", 0..<400)
    var blobs: [Blob] = []
    for index in 0..<heldCount {
      if let blob = store.blob("k\(index * 400 / heldCount / 4 * 4 + 1)") { blobs.append(blob) }
    }
    world.disk.fillUp()
    for round in 1...3 {
      try put("scan", round * 1000..<round * 1000 + 500)
      #expect(pinned.allSatisfy { store.bytes("k\($0)") == Workload.bytes(7000, $0) })
    }
    #expect(store.statistics().pins?.entryCount == pinned.count)
    withExtendedLifetime(blobs) {}
    try store.close()
  }
}
