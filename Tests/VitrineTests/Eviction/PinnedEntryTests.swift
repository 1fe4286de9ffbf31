import Dispatch
import Testing

@testable import Vitrine

/// Eviction leaves pinned entries.
@Suite struct PinnedEntryTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let small = Style("square-60")!

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy? = nil, _ world: TestWorld? = nil, entryBudget: Int? = nil) throws
    -> CacheStore
  {
    try (world ?? self.world).open(
      "store", StoreOptions(byteBudget: 8 << 20, entryBudget: entryBudget, policy: policy))
  }

  private func put(_ store: CacheStore, _ name: String, _ numbers: Range<Int>, _ options: PutOptions = PutOptions())
    throws
  {
    for number in numbers {
      try store.put(noise(7000, UInt64(number)), for: "\(name)\(number)", options: options)
      if number % 50 == 0 { world.background.run() }
    }
  }

  private func pin(_ store: CacheStore, _ name: String, _ numbers: some Collection<Int>) throws {
    for number in numbers { #expect(try store.pin(CacheKey("\(name)\(number)"))) }
  }

  private func numbers(_ store: CacheStore, _ name: String, _ range: Range<Int>) -> [Int] {
    range.filter { store.contains("\(name)\($0)") }
  }

  private func isPinned(_ store: CacheStore, _ url: String) -> Bool? {
    guard case .found(let info) = store.lookup(CacheKey(url)) else { return nil }
    return info.isPinned
  }

  /// Heads of records take 128 bytes.
  private func use(_ entryCount: Int, _ byteCount: Int, mostEntries: Int? = nil) -> PinUse {
    PinUse(
      entryCount: entryCount, byteCount: byteCount + entryCount * 128, mostEntries: mostEntries, mostBytes: 2 << 20)
  }

  @Test(arguments: EvictionPolicy.allCases) func aFullStoreKeepsPinnedEntries(_ policy: EvictionPolicy) throws {
    let store = try open(policy)
    try put(store, "k", 0..<200)
    try pin(store, "k", Array(stride(from: 0, to: 200, by: 2)))
    for round in 0..<4 {
      try put(store, "scan", round * 1000..<round * 1000 + 1000)
      #expect(numbers(store, "k", 0..<200).filter { $0 % 2 == 0 } == Array(stride(from: 0, to: 200, by: 2)))
      #expect(store.statistics().bytesOnDisk <= 8 << 20)
    }
    #expect(numbers(store, "k", 0..<200).filter { $0 % 2 == 1 } == [])
    #expect(store.statistics().pins == use(100, 700_000))
    #expect(try store.verify().isOK)
    for number in stride(from: 0, to: 200, by: 2) { #expect(try store.unpin(CacheKey("k\(number)"))) }
    #expect(store.statistics().pins == use(0, 0))
    try put(store, "scan", 10_000..<12_500)
    // Under the others, a scan displaces no entry that was kept once.
    if policy == .lru || policy == .fifo { #expect(numbers(store, "k", 0..<200) == []) }
    try store.trim(toEntries: 0)
    #expect(store.count == 0)
    try store.close()
  }

  @Test func trimsLeavePinnedEntries() throws {
    let store = try open(.lru)
    try put(store, "k", 0..<100)
    try pin(store, "k", 10..<20)
    #expect(try store.trim(toEntries: 30) == 70)
    #expect(numbers(store, "k", 0..<100) == Array(10..<20) + Array(80..<100))
    #expect(try store.removeUnused(since: world.clock.wallMilliseconds() + 1000) == 20)
    try store.trim(toEntries: 0)
    _ = try store.trim(toBytes: 0)
    #expect(numbers(store, "k", 0..<100) == Array(10..<20) && store.count == 10)
    try store.close()
  }

  @Test func limitsOfEntriesLeavePinnedEntries() throws {
    let store = try open(.lru, entryBudget: 40)
    try put(store, "k", 0..<40)
    try pin(store, "k", 0..<10)
    try put(store, "new", 0..<60)
    #expect(numbers(store, "k", 0..<40) == Array(0..<10) && numbers(store, "new", 0..<60) == Array(30..<60))
    #expect(storeError { try store.pin(CacheKey("new59")) } == .noSpace)
    #expect(store.statistics().pins == use(10, 70_000, mostEntries: 10) && isPinned(store, "new59") == false)
    // A second pin needs no room.
    #expect(try store.pin(CacheKey("k3")))
    let error = StoreError.invalidArgument("10 entries are pinned, more than a quarter of a budget of 39 entries")
    #expect(storeError { try store.setBudgets(entryBudget: 39) } == error)
    try store.close()
    #expect(storeError { _ = try open(nil, nil, entryBudget: 39) } == error)
    #expect(try open(nil, nil, entryBudget: 40).count == 40)
  }

  /// A put removes the unreadable entry of its key, so the pinned entries are as many as before.
  @Test func aPutTakesThePlaceOfAnUnreadablePinnedEntry() throws {
    let store = try open(entryBudget: 40)
    try put(store, "k", 0..<12)
    try pin(store, "k", 0..<10)
    let location = try #require(store.probe.location(of: CacheKey("k3")))
    let segment = try #require(store.probe.segment(inSlot: location.slot))
    try store.close()
    var image = disk.image
    image["segments/\(segment.fileName)"]?[location.offset + 9] ^= 0xFF
    let again = try open(nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2), entryBudget: 40)
    // A get would drop the entry.
    try again.put(noise(500), for: "k3", options: PutOptions(isPinned: true))
    #expect((0..<12).filter { isPinned(again, "k\($0)") == true } == Array(0..<10))
    #expect(again.bytes("k3") == noise(500))
    try again.close()
  }

  @Test func aStyleBudgetLeavesPinnedEntries() throws {
    let store = try open()
    for number in 0..<10 { try store.put(noise(100), for: "u\(number)", style: small) }
    for number in 0..<5 { try store.pin(CacheKey("u\(number)", small)) }
    try store.setStyleBudget(StyleBudget(count: 6), for: small)
    #expect((0..<10).filter { store.contains("u\($0)", style: small) } == [0, 1, 2, 3, 4, 9])
    try store.pin(CacheKey("u9", small))
    #expect(storeError { try store.put(noise(100), for: "u20", style: small) } == .noSpace)
    try store.put(noise(200), for: "u3", style: small)
    #expect(store.styleBudgets.first?.entryCount == 6 && store.statistics().pins == use(6, 700))
    try store.close()
  }

  @Test func aLimitOfStylesOfAURLLeavesPinnedEntries() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, maximumStylesPerURL: 3))
    for number in 0..<3 { try store.put(noise(100), for: "u", style: Style("s\(number)")!) }
    try store.pin(CacheKey("u", Style("s0")!))
    try store.put(noise(100), for: "u", style: Style("s3")!)
    #expect((0..<4).filter { store.contains("u", style: Style("s\($0)")!) } == [0, 2, 3])
    try store.close()
  }

  @Test func pinnedEntriesTakeAQuarterOfTheBudgetAtMost() throws {
    let store = try open()
    try put(store, "k", 0..<400)
    try pin(store, "k", 0..<294)
    #expect(storeError { try store.pin(CacheKey("k294")) } == .noSpace)
    #expect(storeError { try store.put(noise(20_000), for: "k5") } == .noSpace)
    #expect(isPinned(store, "k5") == true && store.bytes("k5")?.count == 7000)
    try store.put(noise(6000), for: "k5")
    try store.unpin(CacheKey("k6"))
    try store.pin(CacheKey("k7"))
    try store.pin(CacheKey("k6"))
    #expect(storeError { try put(store, "new", 0..<1, PutOptions(isPinned: true)) } == .noSpace)
    try store.put(noise(1000), for: "new", options: PutOptions(isPinned: true))
    #expect(store.statistics().pins == use(295, 293 * 7000 + 7000))
    let error = StoreError.invalidArgument(
      "pinned entries have 2095760 bytes, more than a quarter of a budget of 8000000")
    #expect(storeError { try store.setBudgets(byteBudget: 8_000_000) } == error)
    try store.close()
  }

  @Test func aPutKeepsThePinUnlessItsOptionsSayOtherwise() throws {
    let store = try open()
    try put(store, "k", 0..<3)
    try pin(store, "k", 0..<2)
    try put(store, "k", 0..<3)
    #expect((0..<3).map { isPinned(store, "k\($0)") } == [true, true, false])
    var batch = WriteBatch()
    batch.put(noise(50), for: CacheKey("k0"))
    batch.put(noise(60), for: CacheKey("k1"), options: PutOptions(isPinned: false))
    batch.put(noise(70), for: CacheKey("k2"), options: PutOptions(isPinned: true))
    try store.write(batch)
    #expect((0..<3).map { isPinned(store, "k\($0)") } == [true, false, true])
    #expect(store.statistics().pins == use(2, 120))
    // A put is pinned as the operations before it have left the key.
    batch = WriteBatch()
    batch.remove(CacheKey("k0"))
    batch.put(noise(50), for: CacheKey("k0"))
    batch.put(noise(10), for: CacheKey("k1"), options: PutOptions(isPinned: true))
    batch.put(noise(60), for: CacheKey("k1"))
    try store.write(batch)
    #expect((0..<3).map { isPinned(store, "k\($0)") } == [false, true, true])
    try store.pin(CacheKey("k0"))
    try store.unpin(CacheKey("k1"))
    let body = try store.writer(for: CacheKey("k0"))
    try body.write(noise(90))
    try body.commit()
    try store.setMetadata([1], for: CacheKey("k2"))
    #expect((0..<3).map { isPinned(store, "k\($0)") } == [true, false, true])
    #expect(store.statistics().pins == use(2, 160))
    // Equal bytes of another key share the payload.
    try store.put(noise(70), for: "k3", options: PutOptions(isPinned: true))
    #expect(store.statistics().pins == use(3, 230) && isPinned(store, "k3") == true)
    #expect(try !store.pin(CacheKey("missing")) && store.unpin(CacheKey("k1")))
    try store.close()
  }

  @Test func removalExpiryAndNewOriginalsRemovePinnedEntries() throws {
    let store = try open()
    try put(store, "k", 0..<6)
    try store.put(noise(100), for: "k5", style: small)
    try pin(store, "k", 0..<5)
    try store.pin(CacheKey("k5", small))
    try store.remove("k0")
    try store.setExpiration(world.clock.wallMilliseconds() + 500, for: CacheKey("k1"))
    world.clock.advance(1000)
    world.background.run()
    try store.put(noise(50), for: "k5")
    #expect(store.statistics().pins == use(3, 21_000))
    #expect(!store.contains("k5", style: small) && numbers(store, "k", 0..<6) == [2, 3, 4, 5])
    try store.removeAll()
    #expect(store.statistics().pins == use(0, 0))
    try put(store, "k", 0..<1)
    #expect(isPinned(store, "k0") == false)
    try store.close()
  }

  enum End: CaseIterable { case close, death, deathBehindCheckpoint, lostCheckpoints }

  @Test(arguments: End.allCases) func pinsSurviveTheEndOfTheWriter(_ end: End) throws {
    let store = try open()
    try put(store, "k", 0..<100)
    try pin(store, "k", 0..<60)
    if end == .deathBehindCheckpoint { try store.checkpoint() }
    for number in 50..<60 { try store.unpin(CacheKey("k\(number)")) }
    try put(store, "k", 0..<10)
    try pin(store, "k", 90..<95)
    try store.remove("k49")
    _ = try store.compact()
    try put(store, "k", 20..<25)
    try store.flush()
    let pins = store.statistics().pins
    #expect(pins == use(54, 54 * 7000))
    var image = disk.image
    if end == .close {
      try store.close()
      image = disk.image
    } else {
      store.abandon()
    }
    if end == .lostCheckpoints {
      for index in 0..<2 { image["checkpoints/\(index).checkpoint"] = nil }
    }
    let again = try open(nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    #expect(again.statistics().pins == pins)
    #expect((0..<100).filter { isPinned(again, "k\($0)") == true } == Array(0..<49) + Array(90..<95))
    try again.trim(toEntries: 0)
    #expect(again.count == 54)
    try again.close()
  }

  /// A checkpoint may be written before lost entries are counted again.
  @Test func aCheckpointWithoutTheSumIsCounted() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    try pin(store, "k", 0..<10)
    try store.close()
    // A sum that was forged, or none.
    let image = disk.image.replacingEntrySums { index in
      index == 0 ? [] : [.init(group: 1 << 16, entryCount: 3, byteCount: 1 << 50)]
    }
    let again = try open(nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    #expect(again.statistics().pins == use(10, 70_000))
    try put(again, "k", 5..<6)
    #expect(isPinned(again, "k5") == true)
    try again.close()
  }

  @Test func theEntriesOfALostSegmentAreNotPinned() throws {
    let store = try open()
    try put(store, "k", 0..<300)
    try pin(store, "k", 0..<250)
    try store.close()
    var image = disk.image
    let lost = try #require(image.keys.filter { $0.hasPrefix("segments/") }.sorted().dropFirst(2).first)
    image[lost] = nil
    let world = TestWorld(fileSystem: MemoryDisk(image), seed: 2)
    let again = try open(nil, world)
    let left = (0..<300).filter { isPinned(again, "k\($0)") == true }.count
    #expect((1..<250).contains(left) && again.statistics().pins == use(left, left * 7000))
    again.abandon()
    let third = try open(nil, world)
    for number in 0..<250 { try third.put(noise(6000), for: "k\(number)") }
    #expect(third.statistics().pins == use(left, left * 6000))
    try third.close()
  }

  /// A style that has more pinned entries than its budget allows.
  @Test func anEntryOfAStyleBeyondItsBudgetCanBeUnpinned() throws {
    let store = try open()
    for number in 0..<5 { try store.put(noise(100), for: "u\(number)", style: small) }
    for number in 0..<5 { try store.pin(CacheKey("u\(number)", small)) }
    try store.setStyleBudget(StyleBudget(count: 3), for: small)
    #expect(store.styleBudgets.first?.entryCount == 5)
    try store.setMetadata([1], for: CacheKey("u0", small))
    for number in 0..<5 { #expect(try store.unpin(CacheKey("u\(number)", small))) }
    world.background.run()
    #expect((0..<5).filter { store.contains("u\($0)", style: small) } == [2, 3, 4])
    try store.close()
  }

  /// Their records' heads take room too.
  @Test func entriesWithoutBytesCountByTheirHeads() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 1 << 20))
    var pinned = 0
    for number in 0..<3000 {
      try store.put([], for: "u\(number)")
      if (try? store.pin(CacheKey("u\(number)"))) == true { pinned += 1 }
    }
    #expect((1500...2048).contains(pinned))
    for number in 0..<3000 { try store.put(noise(2000), for: "new\(number)") }
    #expect(store.contains("new2999") && (0..<3000).count { store.contains("u\($0)") } >= pinned)
    #expect(store.statistics().bytesOnDisk <= 1 << 20)
    try store.close()
  }

  @Test func aValueThatNeverFitsBesidePinnedEntriesEvictsNothing() throws {
    let store = try open()
    try put(store, "k", 0..<300)
    try pin(store, "k", 0..<290)
    let count = store.count
    for byteCount in [7_500_000, 6_500_000] {
      let error = storeError { try store.put(noise(byteCount), for: "large") }
      var isExpected = error == .noSpace
      if case .tooLarge(byteCount, let limit) = error { isExpected = limit < byteCount }
      #expect(isExpected, "\(String(describing: error))")
      #expect(store.count == count, "\(byteCount)")
    }
    try store.close()
  }

  @Test func aReaderTellsPinnedEntries() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    try pin(store, "k", 0..<10)
    try store.flush()
    let reader = try world.openReadOnly("store", .firstRead)
    #expect(reader.statistics().pins == use(10, 70_000) && isPinned(reader, "k3") == true)
    try pin(store, "k", 10..<12)
    try store.unpin(CacheKey("k3"))
    try store.remove("k4")
    try put(store, "k", 5..<6)
    try store.remove("k10")
    _ = try reader.refresh()
    #expect(reader.statistics().pins == store.statistics().pins && isPinned(reader, "k3") == false)
    try reader.close()
    try store.close()
  }

  /// Threads pin, put and remove the same keys.
  @Test func thePinnedEntriesAreCountedWhileManyThreadsChangeThem() throws {
    let store = try open()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var random = SeededRandom(seed: UInt64(thread))
      for _ in 0..<300 {
        let key = CacheKey("u\(random.next() % 40)")
        switch random.next() % 8 {
        case 0: _ = try? store.remove(key)
        case 1, 2: _ = try? store.pin(key)
        case 3: _ = try? store.unpin(key)
        case 4: try? store.put(noise(300, random.next()), for: key, options: PutOptions(isPinned: true))
        default: try? store.put(noise(200, random.next()), for: key)
        }
      }
    }
    var found = use(0, 0)
    store.forEachEntry { entry in
      if entry.isPinned {
        found.entryCount += 1
        found.byteCount += entry.byteCount + 128
      }
      return true
    }
    #expect(store.statistics().pins == found && found.entryCount > 0)
    try store.trim(toEntries: 0)
    #expect(store.count == found.entryCount)
    try store.close()
  }
}
