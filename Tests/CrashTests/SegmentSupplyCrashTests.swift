import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Creation of segments with disturbances that no workload causes.
@Suite struct SegmentSupplyCrashTests {
  private func removals(_ work: Workload) -> Int {
    work.world.disk.operations.count { operation in
      operation.name == "remove" && operation.site.map { "\($0)".hasPrefix("SegmentSupply") } == true
    }
  }

  /// Another program that writes into the folder may have taken the name.
  @Test func foreignFileUnderTheNextSegmentsNameIsRemoved() throws {
    let work = try Workload()
    try work.put("kept", Workload.bytes(700, 1), synced: true)
    let name = SegmentHeader.fileName(work.store.probe.nextSegment)
    work.world.disk.setContents("\(Workload.path)/segments/\(name)", Workload.bytes(5000, 2))
    try work.put("large", Workload.bytes(100_000, 3), synced: true)
    #expect(removals(work) == 1)
    try work.put("kept", Workload.bytes(900, 4))
    work.explore()
  }

  /// The file of a segment can neither be completed nor removed: it counts until it can.
  @Test(arguments: [
    // ENFILE. A segment for whose mapping memory is short stays unmapped.
    Fault(.map, on: .containing("/segments/"), .fail(23)),
    Fault(.write, on: .containing("/segments/"), .fail(ErrorCode.noSpace)),
  ])
  func aFileThatCannotBeRemovedCountsUntilItIs(_ fault: Fault) throws {
    let work = try Workload()
    try work.put("kept", Workload.bytes(700, 1), synced: true)
    let before = work.store.statistics().bytesOnDisk
    work.world.disk.plan(fault)
    work.world.disk.plan(Fault(.remove, isLasting: true, .fail(ErrorCode.inputOutput)))
    #expect(throws: StoreError.self) { try work.store.put(Workload.bytes(100_000, 3), for: "large") }
    #expect(work.world.disk.strikeCount > 1 && work.store.statistics().bytesOnDisk > before)
    for _ in 0..<2 {
      #expect(work.store.statistics().bytesOnDisk == work.world.disk.usedByteCount)
      work.upkeep()
    }
    work.world.disk.removeFaults()
    work.upkeep()
    #expect(work.store.statistics().bytesOnDisk == work.world.disk.usedByteCount)
    let named = Set(work.store.statistics().segments.map(\.file))
    let prefix = "\(Workload.path)/segments/"
    let there = work.world.disk.filePaths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    #expect(named == Set(there))
    try work.put("large", Workload.bytes(100_000, 3), synced: true)
    #expect(work.store.bytes("kept") == Workload.bytes(700, 1))
  }

  /// No frame names the new segment yet: its file is removed, and a checkpoint makes room.
  @Test func fullLogRemovesANewSegmentAndWritesACheckpoint() throws {
    let work = try Workload()
    var number = 0
    while work.store.probe.log.freeCount >= 2 || work.store.probe.log.room >= 4000 {
      try work.put("k\(number % 8)", Workload.bytes(1000, number), synced: true)
      number += 1
    }
    // Changes need more room than a frame that names a segment: empty frames take the rest.
    while work.store.probe.log.room >= Frame.headerByteCount + 128 {
      #expect(try work.store.probe.record([]))
    }
    let log = work.store.probe.log
    try #require(log.freeCount < 2, "\(log.room) bytes and \(log.freeCount) files are left")
    work.markBeginning()
    try work.put("large", Workload.bytes(100_000, 9), synced: true)
    #expect(removals(work) == 1)
    work.explore()
  }
}
