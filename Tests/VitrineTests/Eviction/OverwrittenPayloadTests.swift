import Testing

@testable import Vitrine

/// Payloads whose own keys were overwritten, while other keys use them. Uses of the overwriting entries must not count
/// as uses of these payloads: no turn spends them.
@Suite struct OverwrittenPayloadTests {
  /// Puts ten times the budget. Without an end of the copies, this test does not end.
  @Test(arguments: EvictionPolicy.allCases, [(3, 1), (2, 1), (8, 1), (8, 5)])
  func usedOverwritesMakeRoom(_ policy: EvictionPolicy, _ load: (group: Int, used: Int)) throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: policy))
    for name in ["k", "same"] {
      for number in 0..<350 { try store.put(noise(20_000, UInt64(number)), for: "\(name)\(number)") }
    }
    for number in 0..<350 { try store.put(noise(100, UInt64(number) | 1 << 41), for: "k\(number)") }
    for number in 0..<350 where number % load.group < load.used {
      for _ in 0..<3 { _ = store["k\(number)"] }
    }
    let before = store.statistics()
    for number in 0..<4000 { try store.put(noise(20_000, UInt64(number) | 1 << 40), for: "new\(number)") }
    let after = store.statistics()
    #expect(after.bytesOnDisk <= store.byteBudget)
    // The old payloads are copied a few times at most.
    #expect(after.compaction.bytesMoved - before.compaction.bytesMoved < 40 << 20)
    #expect(store.contains("new3999"))
    let report = try store.verify()
    #expect(report.damaged == [] && report.lost == [])
    try store.close()
  }
}
