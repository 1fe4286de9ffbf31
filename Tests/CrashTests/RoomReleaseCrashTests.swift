import Testing
import VitrineSimulation

@testable import Vitrine

/// Crashes and full disks while the log and the segments grow, and while they are cut.
@Suite struct RoomReleaseCrashTests {
  private static let options = StoreOptions(byteBudget: 32 << 20)

  /// Any operation of a growth, and of the release that follows, may be the last one.
  @Test func powerLossWhileTheLogGrowsOrIsCutLosesNothing() throws {
    let work = try Workload(options: Self.options)
    try work.put("a", Workload.bytes(2000, 1), synced: true)
    try work.begin()
    for number in 0..<26 { try work.put("k\(number % 8)", Workload.bytes(3000, number), synced: number % 2 == 0) }
    #expect(work.store.probe.log.files.contains { $0.file.byteCount > CacheFormat.newWALFile })
    try work.idle()
    #expect(work.store.probe.log.files.allSatisfy { $0.file.byteCount == CacheFormat.newWALFile })
    try work.put("b", Workload.bytes(300, 2), synced: true)
    try work.close()
    work.explore(mixtures: 1, maximumAlone: 3)
  }

  /// A crash may leave a file that has grown with its length and without its blocks. The room may be taken: a segment
  /// whose removal the crash has undone had it before.
  @Test func logFileIsCutToTheBlocksThatACrashHasLeft() throws {
    let work = try Workload(options: Self.options)
    try work.store.growLog()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    var cuts = 0
    let operations = work.world.disk.operations
    let growths = operations.indices.filter { "\(operations[$0])".contains("LogSizer.swift") }
    #expect(growths.count > 5)
    // Later operations write frames into the files that have grown.
    for number in 0..<8 { try work.put("b\(number)", Workload.bytes(300, number), synced: false) }
    let count = work.world.disk.operations.count
    let moments = growths.flatMap { [$0, $0 + 1, $0 + 2] } + stride(from: growths[0], to: count, by: count / 150)
    for moment in moments + [count] {
      let left = work.world.rebooted(work.world.disk.crashStates(after: moment).disk(.onlyBlocksLost))
      let (before, used) = (left.disk.operationCount, left.disk.usedByteCount)
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      let opening = left.disk.operations[before...].map { "\($0)" }
      cuts += opening.count { $0.contains("Adoption.swift") && $0.contains("truncate") }
      #expect(left.disk.usedByteCount <= used, "after \(moment) operations")
      #expect(store.statistics().bytesOnDisk >= left.disk.usedByteCount, "after \(moment) operations")
      store.abandon()
    }
    #expect(cuts > 0)
  }

  /// An opening needs roots that can name all blocks of the area. On a full disk, it cannot enlarge them.
  @Test func powerLossWhileTheIndexIsCutLeavesRootsForTheWholeArea() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 64 << 20))
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.store.probe.steps.growCheckpoints(moreKeys: 400_000)
    try work.begin()
    try work.idle()
    let cuts = work.world.disk.operations.filter { $0.name == "truncate" && $0.path.contains("/checkpoints/") }
    let cut = try #require(cuts.first { $0.path.hasSuffix("/area") })
    #expect(cuts.contains { $0.index > cut.index && $0.path.hasSuffix(".checkpoint") })
    for moment in cut.index + 1...work.world.disk.operationCount {
      let left = work.world.rebooted(work.world.disk.crashStates(after: moment).disk(.onlyLost(cut.index)))
      left.disk.fillUp(refusingNewNames: true)
      let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: left.environment)
      #expect(store.bytes("a") == Workload.bytes(500, 1), "after \(moment)")
      store.abandon()
    }
  }

  @Test func fullDiskLeavesTheLogAsItIs() throws {
    let work = try Workload(options: Self.options)
    try work.put("a", Workload.bytes(500, 1))
    work.world.disk.fillUp()
    let used = work.world.disk.usedByteCount
    let use = work.store.probe.log.position.use
    var number = 0
    while work.store.probe.log.position.use < use + 3 {
      try work.put("a", Workload.bytes(3000, number), synced: true)
      number += 1
    }
    #expect(work.world.disk.usedByteCount <= used)
    #expect(work.store.probe.log.files.allSatisfy { $0.file.byteCount == CacheFormat.newWALFile })
    try work.store.idle()
    #expect(work.store.bytes("a") == Workload.bytes(3000, number - 1))
    try work.close()
    let again = work.world.rebooted(work.world.disk.copy())
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: again.environment)
    #expect(store.bytes("a") == Workload.bytes(3000, number - 1))
    #expect(store.statistics().lastOpen.kind == .clean)
  }

  /// A removal in a part of the log that was cut off is unknown, but no live record counts as removed because of it.
  @Test func rebuildBehindACutLogKeepsLiveRecords() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 64 << 10))
    for number in 0..<400 { try work.put("k\(number % 40)", Workload.bytes(3000, number)) }
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    let report = try CacheStore.repair(at: Workload.path, environment: world.environment)
    #expect(report.entryCount == 40 && report.damaged.isEmpty)
    let store = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    for number in 360..<400 { #expect(store.bytes("k\(number % 40)") == Workload.bytes(3000, number)) }
  }
}
