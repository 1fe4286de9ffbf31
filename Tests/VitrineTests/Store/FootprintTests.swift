import Testing

@testable import Vitrine

/// A store takes little more room than its entries.
@Suite struct FootprintTests {
  private let disk = MemoryDisk()
  private let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ options: StoreOptions = StoreOptions(byteBudget: 2 << 30)) throws -> CacheStore {
    try world.open("store", options)
  }

  /// Bytes of all files in blocks, and of the four folders.
  private var byteCount: Int { disk.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) } }

  private func size(_ path: String) -> Int { disk.image[path]?.count ?? 0 }
  private var largestLogFile: Int { (0..<4).map { size("wal/\($0).wal") }.max() ?? 0 }

  @Test func newStoreIsSmallAndCheapToMake() throws {
    let folder = try TemporaryFolder()
    let watch = WatchedFileSystem()
    let store = try TestWorld(fileSystem: watch).open(folder.store, StoreOptions())
    try store.close()
    let written = watch.written.withLock { $0 }
    // The bytes of COUNTERS are a margin: `written` counts only writes by calls, not stores through mappings.
    #expect(written.byteCount + Counters.byteCount <= 256 << 10)
    #expect(written.syncCount <= 32)
    let again = try TestWorld().open(folder.store, StoreOptions())
    #expect(again.statistics().bytesOnDisk <= 256 << 10)
    #expect(again.statistics().lastOpen.kind == .clean)
    try again.close()
  }

  @Test func closedStoreTakesLittleMoreThanItsValues() throws {
    for (count, byteCount) in [(1, 5), (50, 16_384), (900, 16_384), (30, 1_000_000), (900, 40_000)] {
      let disk = MemoryDisk()
      let world = TestWorld(fileSystem: disk)
      func expectSmall(_ when: String) {
        let taken = disk.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) }
        let payload = count * byteCount
        #expect(taken <= payload + payload / 20 + 1 << 20, "\(count) of \(byteCount) bytes, \(when): \(taken)")
      }
      let store = try world.open("store", StoreOptions(byteBudget: 2 << 30))
      for index in 0..<count {
        let key = CacheKey("k\(index)")
        try store.put(noise(byteCount, UInt64(index)), for: key, options: PutOptions(durability: .synced))
        if index % 100 == 99 { world.background.run() }
      }
      try store.idle()
      expectSmall("idle")
      let taken = disk.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) }
      #expect(store.statistics().bytesOnDisk == taken)
      for index in stride(from: 0, to: count, by: 7) { #expect(store["k\(index)"] == noise(byteCount, UInt64(index))) }
      try store.put([1], for: "one more")
      try store.close()
      expectSmall("closed")
      let again = try world.open("store", StoreOptions())
      let isWhole = (0..<count).allSatisfy { again["k\($0)"] == noise(byteCount, UInt64($0)) }
      #expect(isWhole)
      #expect(again["one more"] == [1])
      #expect(again.statistics().bytesOnDisk == disk.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) })
      try again.close()
    }
  }

  @Test func shortSessionsFillOneSegment() throws {
    for index in 0..<40 {
      let store = try open()
      try store.put(noise(1000, UInt64(index)), for: CacheKey("k\(index)"))
      try store.close()
    }
    let store = try open()
    #expect(store.count == 40)
    #expect(disk.image.keys.count { $0.hasPrefix("segments/") } <= 3)
    try store.close()
  }

  /// The end of a segment that was cut at a close is used again.
  @Test func cutSegmentTakesMoreRecords() throws {
    var store = try open()
    for index in 0..<2000 { try store.put(noise(3000, UInt64(index)), for: CacheKey("k\(index)")) }
    #expect(disk.image.contains { $0.key.hasPrefix("segments/") && $0.value.count > 1 << 20 })
    try store.close()
    let before = disk.image.keys.count { $0.hasPrefix("segments/") }
    store = try open()
    for index in 0..<10 { try store.put(noise(3000, UInt64(index)), for: CacheKey("new \(index)")) }
    #expect(disk.image.keys.count { $0.hasPrefix("segments/") } == before)
    for index in 10..<400 { try store.put(noise(3000, UInt64(index)), for: CacheKey("new \(index)")) }
    store.abandon()
    store = try open()
    for index in 0..<400 { #expect(store["new \(index)"] == noise(3000, UInt64(index))) }
    for index in stride(from: 0, to: 2000, by: 13) { #expect(store["k\(index)"] == noise(3000, UInt64(index))) }
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// The segments of the burst are larger than the spare for copies that a closed store keeps.
  @Test func compactionAfterABurstFreesSparseSegments() throws {
    var store = try open()
    for index in 0..<240 { try store.put(noise(100_000, UInt64(index)), for: CacheKey("k\(index)")) }
    try store.close()
    store = try open()
    for index in 0..<240 where index % 10 < 7 { try store.remove("k\(index)") }
    let report = try store.compact()
    #expect(report.isErased && report.recordsMoved > 0)
    let payload = 72 * 100_000
    #expect(byteCount <= payload + payload / 20 + 1 << 20, "\(byteCount)")
    for index in 0..<240 where index % 10 >= 7 { #expect(store["k\(index)"] == noise(100_000, UInt64(index))) }
    try store.close()
    #expect(byteCount <= payload + payload / 20 + 1 << 20, "\(byteCount)")
  }

  /// A frame that was once too long for the log does not enlarge it again and again.
  @Test func quietStoreReleasesRoomOnce() throws {
    let store = try open()
    var batch = WriteBatch()
    for index in 0..<500 { batch.put([1], for: CacheKey("k\(index)")) }
    try store.write(batch)
    func rounds(_ count: Int) {
      for _ in 0..<count {
        world.clock.advance(2000)
        world.background.run()
      }
    }
    rounds(1)
    world.clock.advance(700_000)
    rounds(5)
    #expect(largestLogFile == CacheFormat.newWALFile)
    let made = store.statistics().lastCheckpointMilliseconds
    let before = disk.image
    rounds(5)
    #expect(store.statistics().lastCheckpointMilliseconds == made)
    #expect(disk.image.filter { $0.key != "COUNTERS" } == before.filter { $0.key != "COUNTERS" })
    try store.close()
  }

  // MARK: Segments

  @Test func slowPutsKeepSegmentsSmallAndFastPutsEnlargeThem() throws {
    func largestSegment(waiting milliseconds: Int64) throws -> Int {
      let disk = MemoryDisk()
      let world = TestWorld(fileSystem: disk)
      let store = try world.open("store", StoreOptions(byteBudget: 2 << 30))
      for index in 0..<200 {
        try store.put(noise(10_000, UInt64(index)), for: CacheKey("k\(index)"))
        world.clock.advance(milliseconds)
      }
      store.abandon()
      return disk.image.filter { $0.key.hasPrefix("segments/") }.map(\.value.count).max() ?? 0
    }
    #expect(try largestSegment(waiting: 1000) == CacheFormat.smallestSegment)
    #expect(try largestSegment(waiting: 0) > 1 << 20)
  }

  @Test func segmentsGrowWithTheContent() {
    #expect(Sizing.segmentByteCount(content: 0, budget: 2 << 30) == CacheFormat.smallestSegment)
    for content in stride(from: 0, to: 3 << 30, by: 7 << 20) {
      let byteCount = Sizing.segmentByteCount(content: content, budget: 2 << 30)
      #expect(byteCount <= max(CacheFormat.smallestSegment, content / 50))
      #expect(byteCount * 100 > content || byteCount == Sizing.segmentByteCount(budget: 2 << 30))
    }
    #expect(Sizing.segmentByteCount(content: .max / 2, budget: 1 << 20) == CacheFormat.smallestSegment)
  }

  @Test func explicitSegmentSizeHoldsFromTheFirstRecordOn() throws {
    let store = try open(StoreOptions(byteBudget: 256 << 20, segmentByteCount: 512 << 10))
    try store.put([1], for: "a")
    #expect(size("segments/0000000000000001.segment") == 512 << 10)
    try store.close()
  }

  // MARK: The log

  @Test func logGrowsWhenFramesFillItFast() throws {
    let store = try open()
    try store.growLog()
    #expect(largestLogFile == Sizing.walFileByteCount(budget: 2 << 30))
    try store.close()
    #expect(largestLogFile == CacheFormat.newWALFile)
    let again = try open()
    #expect(again.count == 0 && again.statistics().lastOpen.kind == .clean)
    try again.close()
  }

  @Test func logStaysSmallWhenFramesFillItSlowly() throws {
    let store = try open()
    for index in 0..<3000 {
      try store.put([UInt8(truncatingIfNeeded: index)], for: "a")
      world.clock.advance(50)
    }
    #expect(store.statistics().bytesOnDisk < 1 << 20)
    #expect(largestLogFile == CacheFormat.newWALFile)
    try store.close()
  }

  /// A checkpoint writes only the entries that have changed, so a short log suffices.
  @Test func logStaysShortWithALargeIndex() throws {
    let store = try open()
    for index in 0..<20_000 {
      try store.put([UInt8(truncatingIfNeeded: index)], for: CacheKey("k\(index)"))
      world.clock.advance(50)
    }
    #expect(largestLogFile == CacheFormat.newWALFile)
    try store.close()
  }

  @Test func batchThatIsLongerThanTheLogEnlargesIt() throws {
    let store = try open()
    func writeBatch(_ round: Int) throws {
      var batch = WriteBatch()
      for index in 0..<500 { batch.put([1], for: CacheKey("\(round) \(index)")) }
      try store.write(batch)
      world.clock.advance(2000)
    }
    for round in 0..<8 { try writeBatch(round) }
    #expect(largestLogFile > 500 * 100)
    #expect(store.count == 4000)
    store.abandon()
    let again = try open()
    #expect(again.count == 4000)
    try again.close()
  }

  @Test func fullDiskLeavesTheLogAsItIs() throws {
    let store = try open(StoreOptions(byteBudget: 1 << 20))
    for index in 0..<2000 {
      try store.put(noise(300, UInt64(index)), for: CacheKey("k\(index)"))
      #expect(byteCount <= 1 << 20)
    }
    #expect(largestLogFile <= Sizing.walFileByteCount(budget: 1 << 20))
    try store.close()
  }

  /// The batch would have fitted into the log before it was cut.
  @Test func longBatchAfterACutIsCommitted() throws {
    let store = try open()
    try store.growLog()
    try store.idle()
    var batch = WriteBatch()
    for index in 0..<500 { batch.put([1], for: CacheKey("k\(index)")) }
    try store.write(batch)
    #expect(store.count == 500)
    try store.close()
  }

  @Test func smallerBudgetIsTakenAfterABurst() throws {
    let store = try open()
    try store.growLog()
    #expect(byteCount > 32 << 20)
    try store.setBudgets(byteBudget: 4 << 20)
    #expect(byteCount <= 4 << 20)
    try store.put([1, 2], for: "a")
    #expect(store["a"] == [1, 2])
    try store.close()
  }

  // MARK: Checkpoints

  @Test func checkpointFilesShrinkAfterEntriesAreGone() throws {
    let store = try open()
    for index in 0..<20_000 { try store.put([1], for: CacheKey("k\(index)")) }
    try store.checkpoint()
    #expect(size("checkpoints/area") > 400_000)
    try store.removeAll()
    try store.close()
    #expect(size("checkpoints/area") < 200_000)
    #expect(size("checkpoints/0.checkpoint") < 50_000 && size("checkpoints/1.checkpoint") < 50_000)
    let again = try open()
    #expect(again.count == 0 && again.statistics().lastOpen.kind == .clean)
    for index in 0..<20_000 { try again.put([1], for: CacheKey("k\(index)")) }
    try again.close()
    let last = try open()
    #expect(last.count == 20_000)
    try last.close()
  }
}
