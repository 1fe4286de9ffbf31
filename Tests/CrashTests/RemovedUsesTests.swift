import Testing
import VitrineSimulation

@testable import Vitrine

/// A rebuild begins the recency clock anew. The file of uses with the earlier clock is gone for good then.
@Suite struct RemovedUsesTests {
  @Test func removedFileOfUsesDoesNotReturn() throws {
    let path = "\(Workload.path)/checkpoints/uses"
    let world = SimulatedWorld()
    let options = StoreOptions(byteBudget: 64 << 20)
    var store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    // With fewer entries, the pieces have the stamps of all of them.
    var batch = WriteBatch()
    for number in 0..<20_000 { batch.put([1], for: CacheKey("u\(number)")) }
    try store.write(batch)
    try store.close()
    store = try CacheStore.open(at: Workload.path, options: options, environment: world.environment)
    #expect(store.bytes("u7") != nil)
    try store.close()
    try #require(world.disk.contents(path) != nil)
    for index in 0..<2 {
      #expect(
        world.disk.damage("\(Workload.path)/checkpoints/\(index).checkpoint") {
          $0 = [UInt8](repeating: 0x55, count: $0.count)
        })
    }
    let rebuilt = world.rebooted(world.disk.copy())
    let again = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: rebuilt.environment)
    #expect(again.statistics().lastOpen.kind == .rebuilt)
    let left = rebuilt.disk.crashStates(after: rebuilt.disk.operationCount).disk(.everythingLost)
    #expect(left.contents(path) == nil)
    withExtendedLifetime(again) {}
  }
}
