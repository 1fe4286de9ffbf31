import Testing

@testable import Vitrine

/// Space that is hard to free: the log is full, all entries are in use, the budget is smaller than the content.
@Suite struct MakingRoomTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  /// The disk space of the folder, independent of the store's accounts.
  private var bytesOnDisk: Int {
    disk.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) }
  }

  /// Stores frames until there is no room for another.
  private func fillLog(_ store: CacheStore, changing key: String) throws {
    while store.probe.log.freeCount >= 2 || store.probe.log.room > 600 {
      try store.setMetadata([1], for: CacheKey(key))
    }
    let segments = store.probe.segments.compactMap { $0 }
    let sealed = try #require(segments.first { store.probe.account($0).state == .sealed })
    let change = Change.segmentSealed(slot: sealed.slot, byteCount: store.probe.account(sealed).byteCount)
    while try store.probe.record([change]) {}
  }

  /// A crash between the frames that make and open the segment of a large record leaves it as a spare.
  @Test func spareLargerThanASegmentIsGivenUpAtTheOpening() throws {
    let died = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    try died.put(noise(1000, 1), for: "small")
    try #require(try died.probe.makeSegment(byteCount: 1 << 20) != nil)
    try died.flush()
    died.abandon()
    let store = try world.open("store", StoreOptions())
    #expect(store.probe.spares.allSatisfy { store.probe.account($0).byteCount <= store.probe.segmentByteCount })
    for number in 0..<3 { try store.put(noise(1000, UInt64(number)), for: "\(number)") }
    try store.put(noise(1_000_000, 2), for: "large")
    #expect(store["large"] == noise(1_000_000, 2) && store["small"] == noise(1000, 1))
    #expect(bytesOnDisk <= 2 << 20)
    try store.close()
  }

  /// One frame of a small log does not hold all of the evictions.
  @Test func smallEntriesAreEvictedTogether() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    var batch = WriteBatch()
    for index in 0..<600 { batch.put(noise(30, UInt64(index)), for: CacheKey("u\(index)")) }
    try store.write(batch)
    try store.setBudgets(entryBudget: 3)
    #expect(store.count == 3 && store["u599"] == noise(30, 599))
    #expect(bytesOnDisk <= 1 << 20)
    try store.close()
  }

  @Test func constantlyReadEntriesAreEvictedIfNeeded() throws {
    let clock = HookedClock()
    var world = world
    world.environment = Environment(
      fileSystem: disk, clock: clock, entropy: SeededEntropy(seed: 1), background: ManualBackground())
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20, entryBudget: 4))
    for name in ["a", "b", "c", "d"] { try store.put(noise(100_000, 7), for: name) }
    // All entries are used between the choice of victims and their eviction.
    clock.hook.withLock {
      $0 = {
        for name in ["a", "b", "c", "d", "e"] { store.probe.lookUp(CacheKey(name)) }
      }
    }
    try store.put(noise(1000), for: "e")
    #expect(store.count == 4 && store["e"] == noise(1000))
    try store.put(noise(300_000), for: "a")
    try store.put(noise(290_000), for: "b")
    #expect(store["b"] == noise(290_000))
    clock.hook.withLock { $0 = nil }
    try store.close()
  }

  @Test func aCheckpointNeedsNoRoomWhereLogAndBudgetAreFull() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    func needed(moreSegments: Int) -> Int {
      CheckpointHeader.fileByteCount(
        keys: store.probe.keyCount, blobs: store.probe.blobCount,
        segments: store.probe.segments.count + moreSegments, largeCounts: 0)
    }
    var number = 0
    // The next few segments would not fit into the present files.
    while number < 6000, needed(moreSegments: 8) == needed(moreSegments: 0) || number < 200 {
      var batch = WriteBatch()
      for _ in 0..<20 {
        batch.put(noise(100, UInt64(number)), for: CacheKey("u\(number)"))
        number += 1
      }
      try store.write(batch)
    }
    try #require(needed(moreSegments: 8) > needed(moreSegments: 0))
    try fillLog(store, changing: "u\(number - 1)")
    store.probe.setCheckpointRoom(needed(moreSegments: 0))
    store.probe.setBudget()
    #expect(throws: Never.self) { try store.probe.makeRoom(for: 0) }
    #expect(store.probe.missing(0) <= 0 && store.count > 0)
    try store.close()
  }

  @Test func deadSpaceIsFreedBeforeEviction() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
    for index in 0..<20 { try store.put(noise(60_000, UInt64(index)), for: "u\(index)") }
    for index in 0..<10 { try store.remove("u\(index)") }
    try fillLog(store, changing: "u19")
    store.probe.setBudget()
    #expect(throws: Never.self) { try store.probe.makeRoom(for: 100_000) }
    #expect(store.statistics().evictedCount == 0 && store.count == 10)
    try store.close()
  }

  @Test func sharedBytesAreCountedAsDeadOnce() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    let shared = noise(200_000)
    for index in 0..<300 { try store.put(shared, for: "s\(index)") }
    for index in 0..<500 { try store.put(noise(1000, UInt64(index)), for: "u\(index)") }
    try store.probe.evict(byteCount: 150_000)
    #expect(store["s299"] == nil)
    // An estimate by average sizes evicts only as many too many as it is off.
    #expect(store.count > 450)
    #expect(store.statistics().evictedByteCount >= 200_000)
    try store.close()
  }

  @Test func leftoverFilesCountUntilTheyAreRemoved() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    try store.put([1], for: "a")
    let writer = try store.writer(for: CacheKey("body"))
    try writer.write(noise(100_000))
    store.abandon()
    let copy = MemoryDisk(disk.image)
    let later = TestWorld(fileSystem: copy)
    let again = try later.open("store", StoreOptions())
    for index in 0..<60 {
      try again.put(noise(15_000, UInt64(index)), for: "u\(index)")
      let taken = copy.image.values.reduce(4 * 4096) { $0 + roundUp($1.count, to: 4096) }
      #expect(taken <= 1 << 20, "after \(index)")
    }
    #expect(again["u59"] != nil)
    try again.close()
  }

  @Test func aBudgetThatTheLogAloneExceedsIsRefusedAtOpeningToo() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 256 << 20))
    try store.put([1, 2, 3], for: "a")
    try store.growLog()
    try store.flush()
    store.abandon()
    let before = disk.image
    guard case .invalidArgument = storeError({ _ = try world.open("store", StoreOptions(byteBudget: 2 << 20)) }) else {
      Issue.record("not refused")
      return
    }
    #expect(disk.image.filter { $0.key.hasPrefix("segments") } == before.filter { $0.key.hasPrefix("segments") })
    let again = try world.open("store", StoreOptions(byteBudget: 128 << 20))
    #expect(again["a"] == [1, 2, 3] && again.byteBudget == 128 << 20)
    try again.close()
  }

  @Test func blobsHoldAnEighthOfTheBudgetAsItIsNow() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    for index in 0..<900 { try store.put(noise(7000, UInt64(index)), for: "u\(index)") }
    try store.setBudgets(byteBudget: 2 << 20)
    let blobs = (0..<900).compactMap { store.blob("u\($0)") }
    #expect(blobs.count > 100)
    #expect(store.probe.storage.pinnedByteCount <= (2 << 20) / 8)
    withExtendedLifetime(blobs) {}
    try store.close()
  }

  /// Values that fill a little more than half of a segment, or entries that consist of keys only.
  @Test(arguments: [(43_500, 110), (43_500, 160), (84_000, 86), (90_000, 80), (0, 200)])
  func aBatchIsRefusedAtOnceOrFits(_ byteCount: Int, _ count: Int) throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    for index in 0..<20 { try store.put(noise(5000, UInt64(index)), for: "u\(index)") }
    var batch = WriteBatch()
    func key(_ index: Int) -> CacheKey {
      CacheKey(bytes: byteCount == 0 ? noise(60_000, UInt64(index)) : Array("b\(index)".utf8))
    }
    for index in 0..<count { batch.put(noise(byteCount, UInt64(index) + 100), for: key(index)) }
    switch storeError({ try store.write(batch) }) {
    case nil: #expect((0..<count).allSatisfy { store.bytes(key($0)) == noise(byteCount, UInt64($0) + 100) })
    case .tooLarge?: #expect(store.count == 20)
    case let error?: Issue.record("\(error)")
    }
    try store.close()
  }

  @Test(arguments: [false, true]) func reportedLimitFitsWithAnyKey(_ isPageAligned: Bool) throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    for index in 0..<40 {
      try store.put(noise(5000, UInt64(index)), for: "u\(index)")
      let layout = BitmapLayout(width: 16, height: 60, format: .rgba8888)!
      try store.put(
        noise(layout.byteCount, UInt64(index)), for: CacheKey("b\(index)"), options: PutOptions(layout: layout))
    }
    let key = CacheKey(bytes: noise(65536))
    let options = PutOptions(metadata: noise(65536), isPageAligned: isPageAligned)
    guard case .tooLarge(_, let limit) = storeError({ try store.put(noise(900_000), for: key, options: options) })
    else {
      Issue.record("not refused")
      return
    }
    #expect(store.count == 80 && limit > 100_000)
    #expect(storeError { try store.put(noise(limit), for: key, options: options) } == nil)
    #expect(store.bytes(key) == noise(limit))
    try store.close()
  }

  @Test func compactionEndsWhileOtherThreadsWrite() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    func putAll(_ version: Int) throws {
      for index in 0..<100 { try store.put(noise(6000, UInt64(version * 1000 + index * 7)), for: "u\(index)") }
    }
    for version in 0..<3 { try putAll(version) }
    var steps = 0
    _ = try store.compact { _, _ in
      steps += 1
      // A third of everything is overwritten between any two steps.
      for index in 0..<100 where index % 3 == steps % 3 {
        try? store.put(noise(6000, UInt64(9000 + steps * 100 + index)), for: "u\(index)")
      }
      return steps < 300
    }
    #expect(steps < 100)
    try store.close()
  }

  /// Their heads are dead, and are copied along with their payloads: no compaction gains their space.
  @Test func compactionEndsWithPayloadsThatOutlivedTheirKeys() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 4 << 20))
    func name(_ index: Int) -> CacheKey { CacheKey(bytes: noise(600, UInt64(5000 + index))) }
    for index in 0..<400 {
      try store.put(noise(900, UInt64(index)), for: name(index))
      try store.put(noise(900, UInt64(index)), for: "u\(index)")
    }
    for index in 0..<400 { try store.remove(name(index)) }
    for _ in 0..<2 {
      var steps = 0
      _ = try store.compact { _, _ in
        steps += 1
        return steps < 200
      }
      // An endless loop here would also occur below.
      try #require(steps < 100)
    }
    let moved = store.statistics().compaction.recordsMoved
    _ = try store.compact()
    #expect(store.statistics().compaction.recordsMoved == moved, "a copied record is copied again")
    #expect(try store.idle { store.statistics().compaction.recordsMoved < moved + 100 })
    // A put that needs space does not wait for them either.
    for index in 0..<600 { try store.put(noise(9000, UInt64(10_000 + index)), for: "v\(index)") }
    #expect(store.contains("v599") && bytesOnDisk <= 4 << 20)
    try store.close()
  }
}
