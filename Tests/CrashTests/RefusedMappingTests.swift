import Testing
import VitrineSimulation

@testable import Vitrine

/// File systems that refuse shared mappings, as some network file systems do.
@Suite struct RefusedMappingTests {
  private let refusal = Fault(.map, isLasting: true, .fail(ErrorCode.invalidArgument))

  @Test func aRefusedMappingFailsTheCallAndNotTheStore() throws {
    let work = try Workload()
    let store = work.store
    work.world.disk.plan(refusal)
    var refused: StoreError?
    for number in 0..<400 where refused == nil {
      do throws(StoreError) {
        try store.put(Workload.bytes(20_000, number), for: "\(number)")
      } catch {
        refused = error
      }
    }
    guard case .system(let error)? = refused else {
      Issue.record("the put was answered with \(String(describing: refused))")
      return
    }
    #expect(error.operation == "map" && error.code == ErrorCode.invalidArgument)
    work.world.disk.removeFaults()
    try store.put(Workload.bytes(20_000, 1), for: "again", options: PutOptions(durability: .synced))
    try store.close()
  }

  @Test func copiedReadsNeedNoMapping() throws {
    let world = try Workload().world
    world.disk.plan(refusal)
    let options = StoreOptions(byteBudget: 4 << 20, reads: .copied)
    for round in 0..<2 {
      let store = try CacheStore.open(at: "/copied", options: options, environment: world.environment)
      for number in 0..<100 { try store.put(Workload.bytes(9000, number + round), for: "\(number)") }
      for number in 0..<100 { #expect(store.bytes("\(number)") == Workload.bytes(9000, number + round)) }
      #expect(try store.verify().isOK)
      _ = try store.compact()
      try store.close()
    }
  }
}
