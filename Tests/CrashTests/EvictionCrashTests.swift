import Testing
import VitrineSimulation

@testable import Vitrine

/// The power is cut while entries are evicted and segments compacted.
@Suite struct EvictionCrashTests {
  @Test(arguments: [false, true]) func evictionCanBeCutAnywhere(_ synced: Bool) throws {
    let work = try Workload()
    func bytes(_ number: Int) -> [UInt8] { Workload.bytes(20_000 + number % 7 * 3000, number) }
    for number in 0..<30 { try work.put("k\(number)", bytes(number)) }
    try work.begin()
    for number in 30..<36 {
      try work.put("k\(number)", bytes(number), synced: synced)
      if number % 3 == 0 { work.upkeep() }
    }
    #expect(work.store.statistics().evictedCount > 3)
    work.explore(mixtures: 1, maximumAlone: 2)
  }

  @Test func compactionCanBeCutAnywhere() throws {
    let work = try Workload()
    for number in 0..<40 {
      try work.put(
        "k\(number)", Workload.bytes(6000 + number * 50, number), style: number % 3 == 0 ? .original : Style("small")!)
    }
    // Payloads without their own keys, and keys that use other keys' payloads.
    try work.put("shared", Workload.bytes(4000, 900), style: Style("small")!)
    try work.put("sharer", Workload.bytes(4000, 900))
    try work.setMetadata("sharer", [1, 2, 3])
    for number in 0..<40 where number % 4 != 1 {
      let style = number % 3 == 0 ? Style.original : Style("small")!
      try work.batch("k\(number)", styles: [(style, Workload.bytes(10, number))])
    }
    try work.begin()
    let report = try work.compact()
    #expect(report.recordsMoved > 5 && report.recordsDropped == 0, "\(report)")
    #expect(report.bytesAfter < report.bytesBefore, "\(report)")
    try work.put("after", Workload.bytes(500, 1000), synced: true)
    _ = try work.compact()
    try work.put("later", Workload.bytes(700, 1001))
    work.upkeep()
    work.explore(mixtures: 1, maximumAlone: 3)
  }

  /// Two segments are dead, and only the frames that killed the first one are durable. Rule 5 covers both.
  @Test func segmentIsRetiredAfterItsLastKillIsDurable() throws {
    let work = try Workload()
    for number in 0..<12 { try work.put("k\(number)", Workload.bytes(20_000, number), synced: true) }
    try work.begin()
    let before = work.store.probe.segments.compactMap { $0 }.count
    for number in 0..<4 { try work.put("k\(number)", Workload.bytes(100, 20 + number)) }
    try work.flush()
    for number in 4..<8 { try work.put("k\(number)", Workload.bytes(100, 20 + number)) }
    try work.store.probe.retireDeadSegments()
    #expect(work.store.probe.segments.compactMap { $0 }.count <= before - 2)
    work.explore(mixtures: 2, maximumAlone: 6)
  }

  @Test func changesBetweenCopyAndMoveWin() throws {
    let work = try Workload()
    for number in 0..<42 { try work.put("k\(number)", Workload.bytes(4000, number)) }
    for number in 0..<42 where number % 3 != 1 { try work.remove("k\(number)") }
    try work.begin()
    // Called between records: while there are unnamed copies.
    var asked = 0
    try work.store.probe.compactOnce(leastDead: 0.1) {
      asked += 1
      switch asked {
      case 2: try? work.put("k1", Workload.bytes(600, 71))
      case 4: try? work.remove("k4", synced: true)
      case 6: try? work.put("k7", Workload.bytes(4000, 13))
      case 8: try? work.put("new", Workload.bytes(4000, 10))
      default: break
      }
      return true
    }
    #expect(asked > 8)
    work.explore(mixtures: 1, maximumAlone: 2)
    #expect(Accounts.check(work.store) == nil)
    #expect(work.store.bytes("k7") == Workload.bytes(4000, 13) && work.store.bytes("k4") == nil)
  }

  @Test func aSmallerBudgetIsDurableBeforeItHolds() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 3 << 19))
    for number in 0..<30 { try work.put("k\(number)", Workload.bytes(40_000, number)) }
    try work.begin()
    try work.setByteBudget(1 << 20)
    #expect(work.store.statistics().evictedCount > 5)
    #expect(work.store.statistics().bytesOnDisk <= 1 << 20)
    try work.put("after", Workload.bytes(15_000, 500), synced: true)
    work.explore(mixtures: 0, maximumAlone: 1)
  }

  @Test func recordThatFailsItsCheckIsDroppedAndNeverCopied() throws {
    let work = try Workload()
    for number in 0..<40 { try work.put("k\(number)", Workload.bytes(4000, number)) }
    for number in 0..<40 where number % 3 != 1 { try work.remove("k\(number)") }
    try work.flush()
    let path = try #require(work.world.disk.filePaths.first { $0.contains("/segments/") })
    #expect(work.world.disk.damage(path) { $0[128 + 4300 + 2000] ^= 1 })
    let report = try work.compact()
    #expect(report.recordsDropped == 1)
    #expect(work.store.bytes("k1") == nil)
    for number in 4..<40 where number % 3 == 1 {
      #expect(work.store.bytes("k\(number)") == Workload.bytes(4000, number))
    }
    #expect(try work.store.verify().isOK && Accounts.check(work.store) == nil)
  }

  /// The future size of a file counts as soon as it has its length.
  @Test func budgetHoldsIfBlocksAreAllocatedOnWrite() throws {
    let work = try Workload(promisesAllocation: false)
    for number in 0..<60 {
      try work.put("k\(number)", Workload.bytes(20_000 + number * 300, number), synced: number % 3 == 0)
      if number % 10 == 0 { work.upkeep() }
      #expect(work.world.disk.usedByteCount <= work.store.statistics().bytesOnDisk)
    }
    #expect(work.overBudget == nil && work.store.statistics().evictedCount > 0)
  }
}
