import Testing

@testable import Vitrine

/// A store with the policy `s3fifo` or `sieve` reclaims space by segments, and keeps the entries that are used.
@Suite struct SegmentedEvictionTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy = .s3fifo) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 16 << 20, policy: policy))
  }

  /// Entries of 10,000 bytes that do not compress.
  private func put(_ store: CacheStore, _ name: String, _ numbers: Range<Int>) throws {
    for number in numbers {
      try store.put(noise(10_000, UInt64(number) &+ UInt64(name.utf8.first!) << 32), for: "\(name)\(number)")
      if number % 50 == 0 { world.background.run() }
    }
  }

  private func use(_ store: CacheStore, _ name: String, _ numbers: Range<Int>) {
    for number in numbers { _ = store["\(name)\(number)"] }
  }

  private func count(_ store: CacheStore, _ name: String, _ numbers: Range<Int>) -> Int {
    numbers.count { store.contains("\(name)\($0)") }
  }

  private func expectIntact(_ store: CacheStore) throws {
    let report = try store.verify()
    #expect(report.damaged == [] && report.lost == [])
    #expect(store.statistics().bytesOnDisk <= store.byteBudget)
  }

  /// A few lie in a segment with too many entries of the scan.
  @Test(arguments: [(EvictionPolicy.s3fifo, 290...300), (.lru, 0...0)])
  func aScanDisplacesFewUsedEntries(_ policy: EvictionPolicy, _ left: ClosedRange<Int>) throws {
    let store = try open(policy)
    try put(store, "hot", 0..<300)
    use(store, "hot", 0..<300)
    // Three times the budget.
    try put(store, "scan", 0..<5000)
    #expect(left.contains(count(store, "hot", 0..<300)))
    try expectIntact(store)
    try store.close()
  }

  @Test func segmentsOfWhichUsedEntriesWereCopiedCountAsFreed() throws {
    let store = try open()
    try put(store, "mixed", 0..<900)
    for number in stride(from: 0, to: 900, by: 3) { use(store, "mixed", number..<number + 1) }
    try put(store, "scan", 0..<2000)
    let compaction = store.statistics().compaction
    #expect(compaction.recordsMoved > 20 && compaction.segmentsFreed > 0, "\(compaction)")
    try store.close()
  }

  /// The file of the sparsest segment may be missing, or its records may find no room.
  @Test func aSegmentThatCannotBeEmptiedIsNotTriedAgain() throws {
    let store = try open()
    try put(store, "k", 0..<300)
    for number in 0..<100 where number % 8 != 0 { try store.remove("k\(number)") }
    let victims = store.probe.victims(8)
    #expect(victims.count == 8 && Set(victims.map(\.id)).count == 8)
    #expect(victims.allSatisfy { store.probe.account($0).holdsDeadRecords })
    try store.close()
  }

  @Test func aSmallerBudgetSealsTheSegmentsOfKeysThatReturned() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 128 << 10))
    try put(store, "k", 0..<2500)
    try put(store, "k", 0..<100)
    func areOpen() -> Bool { store.probe.openSegments.contains { store.probe.account($0).stream.isReturned } }
    #expect(areOpen())
    try store.setBudgets(byteBudget: 2 << 20)
    #expect(!areOpen())
    try expectIntact(store)
    try store.close()
  }

  /// An entry that was used since the last sweep stays. A scan alone does not begin the next sweep. If newer entries
  /// are used too, the next sweep comes, and evicts entries that were not used again.
  @Test func sieveKeepsTheEntriesThatAreUsedInEachSweep() throws {
    let store = try open(.sieve)
    try put(store, "hot", 0..<300)
    for round in 0..<6 {
      use(store, "hot", 0..<300)
      try put(store, "scan", round * 800..<round * 800 + 800)
    }
    #expect(count(store, "hot", 0..<300) >= 290)
    try put(store, "more", 0..<3000)
    #expect(count(store, "hot", 0..<300) >= 280)
    for round in 0..<40 {
      try put(store, "new", round * 100..<round * 100 + 100)
      use(store, "new", round * 100..<round * 100 + 100)
    }
    #expect(count(store, "hot", 0..<300) == 0)
    try expectIntact(store)
    try store.close()
  }

  @Test func sieveKeepsANewLargeValueUntilItsTurn() throws {
    let store = try open(.sieve)
    for round in 0..<4 {
      try put(store, "used", round * 1000..<round * 1000 + 1000)
      use(store, "used", round * 1000..<round * 1000 + 1000)
    }
    for number in 0..<5 {
      try store.put(noise(300_000, UInt64(number)), for: "large\(number)")
      try put(store, "more", number * 60..<number * 60 + 60)
    }
    #expect((0..<5).allSatisfy { store.contains("large\($0)") })
    try expectIntact(store)
    try store.close()
  }

  @Test func usesSurviveAReopening() throws {
    let store = try open()
    try put(store, "hot", 0..<300)
    use(store, "hot", 0..<300)
    try store.close()
    let again = try open()
    try put(again, "scan", 0..<5000)
    #expect(count(again, "hot", 0..<300) >= 290)
    try expectIntact(again)
    try again.close()
  }

  /// Entries that are not used any more leave main too, since each turn of their segments costs uses.
  @Test func aNewWorkingSetDisplacesTheOldOne() throws {
    let store = try open()
    try put(store, "old", 0..<1200)
    for _ in 0..<3 { use(store, "old", 0..<1200) }
    try put(store, "scan", 0..<1000)
    for round in 0..<8 {
      for number in 0..<600 {
        if store["new\(number)"] == nil { try put(store, "new", number..<number + 1) }
      }
      try put(store, "more", round * 400..<round * 400 + 400)
    }
    #expect(count(store, "new", 0..<600) > 500 && count(store, "old", 0..<1200) < 1000)
    try expectIntact(store)
    try store.close()
  }

  @Test func aKeyThatComesBackSoonGoesToMain() throws {
    let store = try open()
    try put(store, "k", 0..<3000)
    let gone = (0..<3000).filter { !store.contains("k\($0)") }
    #expect(gone.count > 1000)
    for number in gone.suffix(50) { try put(store, "k", number..<number + 1) }
    let returned = store.statistics().segments.filter { $0.stream == "originals-returned" }
    #expect(returned.reduce(0) { $0 + $1.livePartCount } >= 90)
    try put(store, "scan", 0..<5000)
    #expect(gone.suffix(50).count { store.contains("k\($0)") } >= 45)
    try expectIntact(store)
    try store.close()
  }

  @Test func copiesAreFewBesideThePuts() throws {
    let store = try open()
    var random = SeededRandom(seed: 5)
    for round in 0..<12_000 {
      // Popular keys have low numbers.
      let number = random.below(1 + random.below(6000))
      if store["k\(number)"] == nil { try store.put(noise(2000 + number % 9000, UInt64(number)), for: "k\(number)") }
      if round % 200 == 0 { world.background.run() }
      if round % 1000 == 0 { #expect(store.statistics().bytesOnDisk <= store.byteBudget) }
    }
    let statistics = store.statistics()
    #expect(statistics.evictedCount > 500)
    #expect(statistics.writeAmplification < 1.2)
    #expect(Double(statistics.liveByteCount) > 0.85 * Double(store.byteBudget))
    try expectIntact(store)
    try store.close()
  }

  @Test func aSharedPayloadOutlivesItsFirstKey() throws {
    let store = try open()
    let shared = noise(10_000, 77)
    try store.put(shared, for: "first")
    try put(store, "a", 0..<500)
    try store.put(shared, for: "second")
    for _ in 0..<3 { #expect(store["second"] == shared) }
    for round in 0..<8 {
      try put(store, "scan", round * 700..<round * 700 + 700)
      #expect(store["second"] == shared)
    }
    #expect(!store.contains("first"))
    try expectIntact(store)
    try store.close()
  }

  @Test func expiredEntriesGoFirst() throws {
    let store = try open()
    for number in 0..<700 {
      try store.put(
        noise(10_000, UInt64(number)), for: "old\(number)",
        options: PutOptions(expirationMilliseconds: world.clock.wallMilliseconds() + 60_000))
      _ = store["old\(number)"]
    }
    try put(store, "k", 0..<700)
    world.clock.advance(100_000)
    try put(store, "more", 0..<700)
    #expect(count(store, "k", 0..<700) == 700 && count(store, "old", 0..<700) == 0)
    try expectIntact(store)
    try store.close()
  }

  /// Without a head, the way from record to record is lost; the index knows the other records of the segment.
  @Test func aDamagedHeadStopsNoEviction() throws {
    let store = try open()
    try put(store, "k", 0..<1200)
    try store.close()
    var image = disk.image
    let oldest = try #require(image.keys.filter { $0.hasSuffix(".segment") }.min())
    image[oldest]?[SegmentHeader.byteCount + 40] ^= 1
    let again = try TestWorld(fileSystem: MemoryDisk(image), seed: 2).open("store", StoreOptions())
    try put(again, "scan", 0..<3000)
    #expect(!again.statistics().segments.contains { oldest.hasSuffix($0.file) })
    try expectIntact(again)
    try again.close()
  }

  /// A store of single records: each is larger than a segment.
  @Test func largeRecordsAreKeptInPlaceIfTheyAreUsed() throws {
    let store = try open()
    for number in 0..<30 { try store.put(noise(200_000, UInt64(number)), for: "hot\(number)") }
    for _ in 0..<2 { use(store, "hot", 0..<30) }
    for number in 0..<300 { try store.put(noise(200_000, UInt64(1000 + number)), for: "scan\(number)") }
    #expect(count(store, "hot", 0..<30) >= 28)
    #expect(store.statistics().compaction.recordsMoved == 0)
    try expectIntact(store)
    try store.close()
  }

  /// Its length is unknown until its end.
  @Test func aBodyOfUndeclaredLengthEvictsAnEighthOfTheBudgetAtMost() throws {
    let store = try open()
    try put(store, "k", 0..<1600)
    let before = (store.count, store.statistics().evictedByteCount)
    let error = storeError {
      let writer = try store.writer(for: "body")
      for _ in 0..<40 { try writer.write(noise(1 << 18)) }
      try writer.commit()
    }
    #expect(error == .noSpace)
    let evicted = store.statistics().evictedByteCount - before.1
    #expect(evicted <= store.byteBudget / 8 + 10_200 && before.0 - store.count <= store.byteBudget / 8 / 10_000 + 1)
    try expectIntact(store)
    try store.close()
  }

  @Test func anotherPolicyTakesTheStoreOver() throws {
    for policy in [EvictionPolicy.lru, .s3fifo, .sieve, .fifo, .s3fifo] {
      let store = try open(policy)
      #expect(store.statistics().policy == policy)
      try put(store, policy.name, 0..<2000)
      #expect(store.contains("\(policy.name)1999") && store.count > 1000)
      try expectIntact(store)
      try store.close()
    }
  }
}
