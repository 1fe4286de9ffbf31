import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Segments are made while something comes between that no workload brings about.
@Suite struct SegmentSupplyCrashTests {
  private func removals(_ work: Workload) -> Int {
    work.world.disk.operations.count { operation in
      operation.name == "remove" && operation.site.map { "\($0)".hasPrefix("SegmentSupply") } == true
    }
  }

  /// Who else writes into the folder may have taken the name.
  @Test func aFileUnderTheNextSegmentsNameGoes() throws {
    let work = try Workload()
    try work.put("kept", Workload.bytes(700, 1), synced: true)
    let name = SegmentHeader.fileName(work.store.core.catalog.nextSegment)
    work.world.disk.setContents("\(Workload.path)/segments/\(name)", Workload.bytes(5000, 2))
    try work.put("large", Workload.bytes(100_000, 3), synced: true)
    #expect(removals(work) == 1)
    try work.put("kept", Workload.bytes(900, 4))
    work.explore()
  }

  /// The segment just made has no frame that names it: its file goes, and a checkpoint makes room.
  @Test func theLogIsFullWhenASegmentWasMade() throws {
    let work = try Workload()
    let wal = try #require(work.store.core.wal)
    var number = 0
    while wal.freeCount >= 2 || wal.room >= 4000 {
      try work.put("k\(number % 8)", Workload.bytes(1000, number), synced: true)
      number += 1
    }
    // Changes need more room than a frame that names a segment: frames of nothing take the rest.
    while wal.room >= Frame.headerByteCount + 128 {
      #expect(try work.store.core.locked { () throws(StoreError) in try work.store.core.record([]) })
    }
    try #require(wal.freeCount < 2, "\(wal.room) bytes and \(wal.freeCount) files are left")
    work.markBeginning()
    try work.put("large", Workload.bytes(100_000, 9), synced: true)
    #expect(removals(work) == 1)
    work.explore()
  }
}
