import Testing

@testable import Vitrine

/// Synced records that are too long for the frames of a short log.
@Suite struct LongSyncedRecordTests {
  private let disk = MemoryDisk()
  private let world: TestWorld
  private let synced = Guarded<[String]>([])

  init() {
    world = TestWorld(fileSystem: disk)
    disk.onSync.withLock { hook in hook = { [synced] path in synced.withLock { $0.append(path) } } }
  }

  private func open(budget: Int = 2 << 30) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: budget))
  }

  private var logFiles: [Int] { (0..<CacheFormat.walFileCount).map { disk.image["wal/\($0).wal"]?.count ?? 0 } }

  /// Puts a value of 40 kB. Returns the folders whose files the put has synced, in order.
  private func put(_ index: Int, _ store: CacheStore) throws -> [String] {
    synced.withLock { $0 = [] }
    try store.put(noise(40_000, UInt64(index)), for: CacheKey("k\(index)"), options: PutOptions(durability: .synced))
    return synced.withLock { files in files.compactMap { $0.split(separator: "/").first.map(String.init) } }
  }

  @Test func logGrowsUntilFramesCarryTheRecords() throws {
    let store = try open()
    #expect(try put(0, store).filter { $0 == "segments" || $0 == "wal" }.suffix(2) == ["segments", "wal"])
    for index in 1..<60 {
      _ = try put(index, store)
      // The rate of the puts does not matter.
      world.clock.advance(2000)
      world.background.run()
      // A longer record does not change the demand of the others.
      if index == 30 {
        try store.put(noise(200_000, 1), for: "long", options: PutOptions(durability: .synced))
      }
    }
    #expect(logFiles == Array(repeating: 512 << 10, count: 4))
    #expect(try put(60, store) == ["wal"])
    #expect(try put(61, store) == ["wal"])
    store.abandon()
    disk.onSync.withLock { $0 = nil }
    let again = try open()
    #expect(again.count == 63)
    for index in 0..<62 { #expect(again["k\(index)"] == noise(40_000, UInt64(index))) }
    try again.idle()
    #expect(logFiles == Array(repeating: CacheFormat.newWALFile, count: 4))
    try again.close()
  }

  @Test func fewRecordsLeaveTheLogShort() throws {
    let store = try open()
    for index in 0..<20 {
      _ = try put(index, store)
      world.background.run()
    }
    #expect(logFiles == Array(repeating: CacheFormat.newWALFile, count: 4))
    try store.close()
  }

  /// The largest log of such a budget carries no record of this size.
  @Test func smallBudgetsAskForNoLongerLog() throws {
    let store = try open(budget: 8 << 20)
    for index in 0..<40 {
      _ = try put(index, store)
      #expect(!store.probe.wantsCheckpoint)
    }
    try store.close()
  }

  @Test func batchesAskForNoLongerLog() throws {
    let store = try open()
    for round in 0..<5 {
      var batch = WriteBatch()
      for index in 0..<20 { batch.put(noise(40_000, UInt64(round * 20 + index)), for: CacheKey("\(round) \(index)")) }
      try store.write(batch, durability: .synced)
      world.background.run()
    }
    #expect(logFiles == Array(repeating: CacheFormat.newWALFile, count: 4))
    try store.close()
  }

  @Test func logThatCannotGrowIsAskedRarely() {
    var demand = LogDemand()
    #expect(demand.fileByteCount == 0 && !demand.exceeds(capacity: 0))
    let due = (1...10_000).filter { _ in demand.noteUncarried(1000, suitable: 8192, active: 4096) }
    #expect(demand.fileByteCount == 8192)
    #expect(demand.exceeds(capacity: 8191 - WALFileHeader.frameStart))
    #expect(!demand.exceeds(capacity: 8192 - WALFileHeader.frameStart))
    #expect(due == [33, 66, 132, 264, 528, 1056, 2112, 4224, 8448])
  }

  @Test func oneCheckpointFollowsTheMoveOfTheLog() {
    var demand = LogDemand()
    for _ in 1...33 { _ = demand.noteUncarried(1000, suitable: 8192, active: 4096) }
    let due = (1...3).map { _ in demand.noteUncarried(1000, suitable: 8192, active: 8192) }
    #expect(due == [true, false, false])
  }

  @Test(arguments: [(0, 0), (4000, 1000), (16_000, 4000), (31_999, 4000), (320_000, 40_000), (64 << 20, 256 << 10)])
  func framesCarryAnEighthOfTheLog(_ capacity: Int, _ byteCount: Int) {
    #expect(LogDemand.largestRecord(capacity: capacity) == byteCount)
  }
}
