import Testing
import Vitrine
import VitrineSimulation

/// A store left by a loss of power, on a read-only medium.
@Suite struct ReadOnlyMediumTests {
  private static let writing: [DiskCall] = [
    .createDirectory, .remove, .rename, .syncDirectory, .createFile, .write, .allocate, .truncate, .syncFile, .lock,
  ]

  private func openReadOnly(_ world: SimulatedWorld, _ reads: ReadMode) throws -> CacheStore {
    try CacheStore.open(
      at: Workload.path, options: StoreOptions(reads: reads, isReadOnly: true), environment: world.environment)
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func readOnlyMediumIsReadWithoutAWriteAttempt(_ reads: ReadMode) throws {
    let work = try Workload()
    let bitmap = Workload.bytes(2000, 1)
    // The log alone has the small synced values. The segment of `large` is synced.
    try work.put("a", bitmap, synced: true)
    try work.put("text", [UInt8](repeating: 65, count: 3000), synced: true)
    try work.put("shared", bitmap, synced: true)
    try work.remove("a", synced: true)
    try work.put("large", Workload.bytes(40_000, 2), synced: true)
    try work.put("buffered", Workload.bytes(500, 3))
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    for call in Self.writing { world.disk.plan(Fault(call, isLasting: true, .fail(30))) }
    let before = world.disk.operationCount
    let store = try openReadOnly(world, reads)
    for _ in 0..<2 {
      #expect(store.bytes("a") == nil && store.bytes("buffered") == nil)
      #expect(store.bytes("text") == [UInt8](repeating: 65, count: 3000))
      #expect(store.bytes("shared") == bitmap)
      let blob = try #require(store.blob("shared"))
      #expect(blob.isCopy == (reads == .copied) && !blob.isDamaged)
      #expect(store.bytes("large") == Workload.bytes(40_000, 2))
      #expect(try store.refresh() == false)
    }
    #expect(try store.keysInOrder().map(\.urlText) == ["large", "shared", "text"])
    #expect(try store.verify().isOK)
    #expect(store.statistics().lastOpen.kind == .recovered)
    try store.close()
    #expect(world.disk.strikeCount == 0 && world.disk.operationCount == before)
    #expect(throws: StoreError.self) {
      try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    }
    // The medium becomes writable again: a writer finds the same, and the reader follows it.
    world.disk.removeFaults()
    let reader = try openReadOnly(world, reads)
    #expect(reader.bytes("shared") == bitmap)
    let writer = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    #expect(writer.bytes("shared") == bitmap && writer.count == 3)
    try writer.put([1], for: "new")
    #expect(try reader.refresh())
    #expect(reader.bytes("new") == [1] && reader.bytes("shared") == bitmap && reader.bytes("text") != nil)
    #expect(try reader.verify().isOK)
    try writer.close()
  }

  /// Two records in one page, both inline in the log only. The reader restores one in memory, the writer both on
  /// the disk; then the log is overwritten.
  @Test(arguments: [false, true], [ReadMode.mapped, .copied])
  func readerFindsRecordsThatAWriterRestored(_ followsOften: Bool, _ reads: ReadMode) throws {
    let work = try Workload()
    let values = ["first": Workload.bytes(200, 1), "second": Workload.bytes(200, 2), "third": Workload.bytes(200, 3)]
    for (name, value) in values { try work.put(name, value, synced: true) }
    let world = work.world.rebooted(work.world.disk.crashStates().disk(.everythingLost))
    let reader = try openReadOnly(world, reads)
    #expect(reader.bytes("first") == values["first"])
    // Its file does not have these bytes yet.
    let blob = try #require(reader.blob("first"))
    #expect(blob.isCopy == (reads == .copied) && !blob.isDamaged)
    let writer = try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
    for _ in 0..<4 {
      for index in 0..<1000 {
        try writer.put([UInt8(index & 0xFF)], for: "other")
        if followsOften, index % 50 == 0 { try reader.refresh() }
      }
      try writer.checkpoint()
      world.background.runAll()
    }
    #expect(reader.bytes("second") == values["second"])
    try reader.refresh()
    for (name, value) in values { #expect(reader.bytes(name) == value) }
    #expect(blob.withBytes { $0.withUnsafeBytes { Array($0) } } == values["first"] && !blob.isDamaged)
    #expect(try reader.verify().isOK)
    #expect(reader.statistics().damagedCount == 0 && reader.statistics().lostCount == 0)
    try writer.close()
  }
}
