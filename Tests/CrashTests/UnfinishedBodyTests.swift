import Testing
import Vitrine
import VitrineSimulation

/// Bodies in pieces and drawings, with the power cut after every operation of the disk.
@Suite struct UnfinishedBodyTests {
  /// Segments in which a body above 64 KiB fits beside others.
  private static var roomy: StoreOptions { StoreOptions(byteBudget: 4 << 20, segmentByteCount: 256 << 10) }

  @Test(arguments: [Verification.firstRead, .never])
  func bodyInPiecesIsStoredWholeOrNotAtAll(_ verification: Verification) throws {
    let work = try Workload(options: Self.roomy)
    try work.put("a", Workload.bytes(700, 1), synced: true)
    try work.put("body", Workload.bytes(500, 2), synced: true)
    try work.write("body", Workload.bytes(90_000, 3), isLengthKnown: true)
    try work.write("other", Workload.bytes(80_000, 4), isLengthKnown: true, synced: true)
    try work.put("a", Workload.bytes(300, 5))
    work.explore(mixtures: 2, maximumAlone: 3, verification: verification)
  }

  /// A checkpoint goes past the reservation of a body in progress: it must not vouch for bytes that are not durable
  /// when the body is committed later, since vouched-for records are not checked.
  @Test(arguments: [Verification.firstRead, .never])
  func marksThatPassAPendingBodyStayTrue(_ verification: Verification) throws {
    let work = try Workload(options: Self.roomy)
    let bytes = Workload.bytes(70_000, 1)
    let writer = try work.writer("body", length: bytes.count)
    try writer.write(Array(bytes[..<30_000]))
    try work.put("behind", Workload.bytes(700, 2), synced: true)
    try work.checkpoint()
    try writer.write(Array(bytes[30_000...]))
    try work.put("behind", Workload.bytes(600, 3), synced: true)
    try work.commit(writer, "body", bytes)
    try work.put("last", Workload.bytes(100, 4))
    let drawn = Workload.bytes(64 * 300, 5)
    try work.draw("drawn", drawn) {
      try work.put("meanwhile", Workload.bytes(200, 6), synced: true)
      try work.checkpoint()
    }
    work.explore(mixtures: 2, maximumAlone: 3, verification: verification)
  }

  @Test func bodiesThatStallOrBreakOffLeaveNoTrace() throws {
    let work = try Workload(options: Self.roomy)
    try work.put("k", Workload.bytes(500, 1), synced: true)
    let stalled = try work.writer("k", length: 100_000)
    try stalled.write(Workload.bytes(60_000, 2))
    let growing = try work.writer("k", length: nil)
    try growing.write(Workload.bytes(90_000, 3))
    let broken = try work.writer("k", length: nil)
    try broken.write(Workload.bytes(70_000, 4))
    broken.abandon()
    try work.put("after", Workload.bytes(500, 5), synced: true)
    work.upkeep()
    work.explore(mixtures: 2, maximumAlone: 3)
    #expect(work.store.bytes("k") == Workload.bytes(500, 1))
    withExtendedLifetime((stalled, growing)) {}
  }

  @Test func bodyOfUnknownLengthIsStoredWholeOrNotAtAll() throws {
    let work = try Workload()
    try work.write("empty", [], isLengthKnown: false, synced: true)
    try work.write("small", Workload.bytes(30_000, 1), isLengthKnown: false, pieces: 20_000)
    // Larger than a segment: it stays in its own file.
    try work.write("large", Workload.bytes(100_000, 2), isLengthKnown: false)
    try work.write("large", Workload.bytes(150_000, 3), isLengthKnown: false, synced: true)
    try work.remove("large", synced: true)
    work.upkeep()
    work.explore(mixtures: 2, maximumAlone: 3)
  }

  @Test func aBodyThatFitsASegmentIsCopiedIntoOne() throws {
    let work = try Workload(options: Self.roomy)
    try work.write("k", Workload.bytes(90_000, 1), isLengthKnown: false, synced: true)
    try work.write("k", Workload.bytes(70_000, 2), isLengthKnown: false)
    try work.put("last", Workload.bytes(70, 3), synced: true)
    work.explore(mixtures: 2, maximumAlone: 3)
    let files = work.world.disk.filePaths.filter { $0.contains("/segments/") }
    #expect(files.count == work.store.statistics().segments.count)
    #expect(!work.store.statistics().segments.contains { $0.stream == "single" })
  }

  @Test func equalBodiesAreSharedAndTheirReservationsAbandoned() throws {
    let work = try Workload(options: Self.roomy)
    let bytes = Workload.bytes(70_000, 1)
    try work.put("a", bytes)
    try work.write("b", bytes, isLengthKnown: true, synced: true)
    try work.write("c", bytes, isLengthKnown: false)
    try work.remove("a")
    try work.flush()
    work.explore(mixtures: 2, maximumAlone: 3)
    #expect(work.store.statistics().blobCount == 1)
  }

  @Test func drawingIsStoredWholeOrNotAtAll() throws {
    let work = try Workload()
    try work.put("bitmap", Workload.bytes(640, 1), synced: true)
    try work.draw("bitmap", Workload.bytes(64 * 40, 2), synced: true)
    try work.draw("bitmap", Workload.bytes(64 * 80, 3)) {
      try work.put("nested", Workload.bytes(300, 4), synced: true)
    }
    struct Broken: Error {}
    #expect(throws: Broken.self) {
      try work.store.draw(CacheKey("bitmap"), width: 20, height: 20, format: .gray8) { memory, layout in
        #expect(layout.bytesPerRow == 64)
        memory.withUnsafeMutableBytes { $0.copyBytes(from: [UInt8](repeating: 7, count: $0.count)) }
        throw Broken()
      }
    }
    try work.draw("large", Workload.bytes(64 * 1200, 5), synced: true)
    try work.draw("other", Workload.bytes(64 * 3, 6))
    work.explore(mixtures: 2, maximumAlone: 3)
  }

  @Test func bodyBegunBeforeARemovalOfEverythingDoesNotAppear() throws {
    let work = try Workload(options: Self.roomy)
    try work.put("k", Workload.bytes(500, 1), synced: true)
    let bytes = Workload.bytes(70_000, 2)
    let writers = try [nil, bytes.count, 400].map { try work.writer("k", length: $0) }
    for writer in writers { try writer.write(Array(bytes[..<(writer.length == 400 ? 400 : 70_000)])) }
    try work.removeAll(synced: true)
    for writer in writers { #expect(throws: StoreError.aborted) { try writer.commit() } }
    #expect(throws: StoreError.aborted) {
      try work.store.draw(CacheKey("k"), width: 9, height: 9, format: .gray8) { _, _ in
        try work.removeAll()
      }
    }
    #expect(work.store.bytes("k") == nil)
    work.upkeep()
    #expect(work.store.statistics().liveByteCount == 0)
    try work.put("new", Workload.bytes(300, 3), synced: true)
    work.explore(mixtures: 1, maximumAlone: 2)
  }

  @Test(arguments: [true, false]) func aDiskThatFillsInTheMiddleOfABodyKeepsTheOldValue(_ isLengthKnown: Bool) throws {
    let work = try Workload(options: Self.roomy)
    try work.put("k", Workload.bytes(500, 1), synced: true)
    let writer = try work.writer("k", length: isLengthKnown ? 900_000 : nil)
    if !isLengthKnown { try writer.write(Workload.bytes(80_000, 2)) }
    work.world.disk.fillUp()
    // Each call throws the first error: the writer has ended.
    for _ in 0..<2 { #expect(throws: StoreError.noSpace) { try writer.write(Workload.bytes(700_000, 2)) } }
    #expect(throws: StoreError.noSpace) { try writer.commit() }
    #expect(work.store.bytes("k") == Workload.bytes(500, 1))
    let files = work.world.disk.filePaths.filter { $0.contains("/segments/") }
    #expect(files.count == work.store.statistics().segments.count)
    work.world.disk.setCapacity(1 << 30)
    try work.write("k", Workload.bytes(300_000, 3), isLengthKnown: isLengthKnown, synced: true)
    work.explore(mixtures: 1, maximumAlone: 2)
  }

  /// The log rotates several times while bodies stall in the segment of its payloads.
  @Test(.timeLimit(.minutes(60))) func stalledBodiesDoNotBlockTheLog() throws {
    let work = try Workload(options: Self.roomy)
    let stalled = try (0..<3).map { number in
      let writer = try work.writer("s\(number)", length: 100_000)
      try writer.write(Workload.bytes(90_000, number))
      return writer
    }
    for round in 0..<150 { try work.put("k\(round % 7)", Workload.bytes(2900, round), synced: true) }
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    let left = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    for round in 143..<150 { #expect(left.bytes("k\(round % 7)") == Workload.bytes(2900, round)) }
    for (number, writer) in stalled.enumerated() {
      try writer.write(Workload.bytes(10_000, 50))
      try writer.commit()
      #expect(work.store.bytes("s\(number)") == Workload.bytes(90_000, number) + Workload.bytes(10_000, 50))
    }
    #expect(Accounts.check(work.store) == nil)
  }
}
