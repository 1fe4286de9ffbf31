import Dispatch
import Foundation
import Testing

@testable import Vitrine

/// The entries of a style stay within the budget of that style.
@Suite struct StyleBudgetTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let small = Style("square-60")!
  let large = Style("square-600")!

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ budgets: [Style: StyleBudget]? = nil, _ policy: EvictionPolicy? = nil, _ world: TestWorld? = nil)
    throws -> CacheStore
  {
    try (world ?? self.world).open(
      "store", StoreOptions(byteBudget: 16 << 20, policy: policy, styleBudgets: budgets))
  }

  private func put(_ store: CacheStore, _ style: Style, _ numbers: Range<Int>, byteCount: Int = 1000) throws {
    for number in numbers { try store.put(noise(byteCount, UInt64(number)), for: "u\(number)", style: style) }
  }

  private func batch(_ numbers: Range<Int>) -> WriteBatch {
    var batch = WriteBatch()
    for number in numbers { batch.put(noise(1000, UInt64(number)), for: CacheKey("u\(number)", small)) }
    return batch
  }

  private func numbers(_ store: CacheStore, _ style: Style, _ range: Range<Int>) -> [Int] {
    range.filter { store.contains("u\($0)", style: style) }
  }

  @Test(arguments: EvictionPolicy.allCases) func aPutEvictsEntriesOfItsStyleAlone(_ policy: EvictionPolicy) throws {
    let store = try open([small: StyleBudget(count: 250)], policy)
    try put(store, large, 0..<300)
    try put(store, small, 0..<300)
    #expect(numbers(store, small, 0..<300) == Array(50..<300))
    #expect(numbers(store, large, 0..<300) == Array(0..<300))
    #expect(
      store.styleBudgets
        == [StyleUse(style: small, budget: StyleBudget(count: 250), entryCount: 250, byteCount: 250_000)])
    try store.close()
  }

  @Test func theLeastRecentlyUsedEntryGoes() throws {
    let store = try open([small: StyleBudget(count: 100)], .lru)
    try put(store, small, 0..<100)
    for number in 0..<50 { #expect(store.bytes("u\(number)", style: small) != nil) }
    try put(store, small, 100..<150)
    #expect(numbers(store, small, 0..<150) == Array(0..<50) + Array(100..<150))
    try store.close()
  }

  @Test func bytesAreLimited() throws {
    let store = try open([small: StyleBudget(byteCount: 100_000)])
    try put(store, small, 0..<150)
    #expect(numbers(store, small, 0..<150) == Array(50..<150))
    try put(store, small, 150..<151, byteCount: 40_000)
    #expect(numbers(store, small, 0..<151) == Array(90..<151))
    #expect(store.styleBudgets.first?.byteCount == 100_000)
    try store.close()
  }

  /// More victims are chosen than a frame removes.
  @Test func manyEntriesLeaveInTheirOrder() throws {
    let store = try open([small: StyleBudget(byteCount: 600_000)])
    for number in 0..<700 {
      try put(store, small, number..<number + 1)
      if number >= 600 {
        let isThere = store.contains("u\(number - 600)", style: small)
        try #require(!isThere, "u\(number - 600)")
      }
    }
    #expect(numbers(store, small, 0..<700) == Array(100..<700))
    try store.close()
  }

  @Test func anOverwriteEvictsNoOtherEntry() throws {
    let store = try open([small: StyleBudget(byteCount: 100_000, count: 100)])
    try put(store, small, 0..<100)
    // The entry that is written anew is not the oldest one.
    for number in (0..<100).reversed() { try put(store, small, number..<number + 1) }
    for number in (0..<100).reversed() { try store.put(noise(900), for: "u\(number)", style: small) }
    #expect(numbers(store, small, 0..<100) == Array(0..<100))
    #expect(store.styleBudgets.first?.byteCount == 90_000)
    try store.close()
  }

  @Test func aValueThatCanNeverFitIsRefused() throws {
    let store = try open([small: StyleBudget(byteCount: 10_000)])
    try put(store, small, 0..<5)
    #expect(
      storeError { try put(store, small, 5..<6, byteCount: 10_001) } == .tooLarge(byteCount: 10_001, limit: 10_000))
    #expect(numbers(store, small, 0..<6) == Array(0..<5))
    #expect(storeError { try store.write(batch(0..<11)) } == .noSpace)
    #expect(numbers(store, small, 0..<6) == Array(0..<5))
    try store.close()
  }

  @Test func aBatchEvictsForAllItsEntries() throws {
    let store = try open([small: StyleBudget(count: 20)])
    try put(store, small, 0..<20)
    try store.write(batch(20..<35))
    #expect(numbers(store, small, 0..<35) == Array(15..<35))
    try store.close()
  }

  @Test func sharedContentCountsForEachStyle() throws {
    let store = try open([small: StyleBudget(count: 10), large: StyleBudget(count: 10)])
    for number in 0..<3 {
      for style in [small, large] { try store.put(noise(5000), for: "u\(number)", style: style) }
    }
    #expect(store.styleBudgets.map(\.byteCount) == [15_000, 15_000])
    #expect(store.statistics().blobCount == 1)
    try store.close()
  }

  enum End: CaseIterable { case close, death, deathBehindCheckpoint, lostCheckpoints }

  @Test(arguments: End.allCases) func budgetsAndSumsSurviveTheEndOfTheWriter(_ end: End) throws {
    let budgets = [small: StyleBudget(byteCount: 90_000, count: 100), large: StyleBudget(count: 7)]
    let store = try open(budgets)
    try put(store, small, 0..<60)
    try put(store, large, 0..<10)
    if end == .deathBehindCheckpoint { try store.checkpoint() }
    try put(store, small, 60..<120)
    try store.remove("u119", style: small)
    try store.flush()
    let uses = store.styleBudgets
    #expect(uses.map(\.entryCount) == [89, 7])
    var image = disk.image
    if end == .close {
      try store.close()
      image = disk.image
    } else {
      store.abandon()
    }
    if end == .close {
      let headers = (0..<2).compactMap {
        image["checkpoints/\($0).checkpoint"]?.withUnsafeBytes { CheckpointHeader($0) }
      }
      let newest = headers.max { $0.generation < $1.generation }
      #expect(newest?.entrySums.map(\.entryCount).sorted() == [7, 89])
    }
    if end == .lostCheckpoints {
      for index in 0..<2 { image["checkpoints/\(index).checkpoint"] = nil }
    }
    let again = try open(nil, nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    #expect(again.styleBudgets == uses)
    #expect(numbers(again, small, 0..<120) == Array(30..<119))
    try put(again, small, 200..<210)
    #expect(again.styleBudgets.first?.entryCount == 90)
    try again.close()
  }

  @Test func aBudgetThatIsSetLaterAppliesAtOnce() throws {
    let store = try open()
    try put(store, small, 0..<200)
    try put(store, large, 0..<10)
    #expect(store.styleBudgets == [])
    try store.setStyleBudget(StyleBudget(count: 150), for: small)
    #expect(numbers(store, small, 0..<200) == Array(50..<200))
    try store.setStyleBudget(StyleBudget(byteCount: 100_000), for: small)
    #expect(numbers(store, small, 0..<200) == Array(100..<200))
    try store.close()
    let again = try open()
    #expect(again.styleBudgets.map(\.budget) == [StyleBudget(byteCount: 100_000)])
    try again.setStyleBudget(nil, for: small)
    try put(again, small, 200..<300)
    #expect(numbers(again, small, 0..<300) == Array(100..<300) && again.styleBudgets == [])
    try again.close()
    #expect(try open().styleBudgets == [])
  }

  @Test func theOptionsOfAnOpeningReplaceTheBudgets() throws {
    let store = try open([small: StyleBudget(count: 100)])
    try put(store, small, 0..<50)
    try put(store, large, 0..<50)
    try store.close()
    let again = try open([large: StyleBudget(count: 20)])
    #expect(numbers(again, large, 0..<50) == Array(30..<50) && numbers(again, small, 0..<50).count == 50)
    #expect(again.styleBudgets.map(\.style) == [large])
    try again.close()
  }

  /// An earlier release writes checkpoints without sums.
  @Test func aCheckpointWithoutSumsIsCounted() throws {
    let store = try open([small: StyleBudget(count: 100)])
    try put(store, small, 0..<100)
    try put(store, large, 0..<10)
    try store.close()
    let image = disk.image.replacingEntrySums { _ in [] }
    let again = try open(nil, nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    #expect(again.styleBudgets.map(\.entryCount) == [100] && again.styleBudgets.map(\.byteCount) == [100_000])
    try again.close()
  }

  /// The sizes of the entries in a lost segment are unknown.
  @Test func theEntriesOfALostSegmentCountNoMore() throws {
    let store = try open([small: StyleBudget(count: 1000)])
    try put(store, small, 0..<500)
    try store.close()
    var image = disk.image
    let lost = try #require(image.keys.filter { $0.hasPrefix("segments/") }.sorted().first)
    image[lost] = nil
    let again = try open(nil, nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    let left = numbers(again, small, 0..<500).count
    #expect((1..<500).contains(left) && again.styleBudgets.map(\.entryCount) == [left])
    #expect(again.styleBudgets.map(\.byteCount) == [left * 1000])
    try again.close()
  }

  @Test func aChangeCountsFromTheMomentAtWhichItsShardWasCounted() {
    let keys = (0..<64).map { KeyHash(bits: UInt64($0) << 58 | 7) }
    var sums = EntrySums()
    sums.track([7, 8], isEmpty: false)
    sums.add(keys[3], EntrySums.Size(logicalByteCount: 100, headUnits: 2), isPinned: false)
    #expect(sums.uncounted == [.style(7), .style(8)] && sums[.style(7)] == nil && sums.saved.isEmpty)
    for shard in 0..<64 { sums.count(.style(7), shard: shard, entryCount: 2, byteCount: 10) }
    sums.add(keys[3], EntrySums.Size(logicalByteCount: 100, headUnits: 2), isPinned: false)
    sums.remove(keys[4], EntrySums.Size(logicalByteCount: 5, headUnits: 2), isPinned: false)
    // A shard is counted once.
    sums.count(.style(7), shard: 3, entryCount: 2, byteCount: 10)
    #expect(sums.uncounted == [.style(8)] && sums[.style(7)]?.entryCount == 128 && sums[.style(7)]?.byteCount == 735)
    sums.forget(keys[0])
    #expect(sums.uncounted == [.style(7), .style(8)] && sums[.style(7)] == nil)
    sums.removeAll()
    #expect(sums.uncounted == [] && sums[.style(7)] == EntrySums(saved: [(.style(7), EntrySums.Sum())])[.style(7)])
    sums.track([8], isEmpty: false)
    #expect(sums[.style(7)] == nil && sums[.style(8)]?.entryCount == 0)
  }

  @Test func identityAndHeaderKeepBudgetsAndSums() throws {
    var identity = StoreIdentityFormatTests.identity
    identity.styleBudgets = StyleBudgets([
      small: StyleBudget(count: 250), .original: StyleBudget(byteCount: 40 << 20),
      large: StyleBudget(byteCount: .max, count: 1 << 32 - 1),
    ])
    let bytes = identity.encoded()
    #expect(bytes.count == 512)
    #expect(bytes.withUnsafeBytes { StoreIdentity.read($0) } == .valid(identity))
    // Intact, but with a list that is none: too many, no name, an invalid name, the order reversed.
    for (offset, value) in [(296, 13), (297, 0), (310, 7), (310, 122)] as [(Int, UInt8)] {
      var changed = bytes
      changed[offset] = value
      let sum = changed.withUnsafeBytes {
        Checksum.of(UnsafeRawBufferPointer(rebasing: $0[0..<504]), seed: StoreIdentity.magic)
      }
      withUnsafeBytes(of: sum.littleEndian) { changed.replaceSubrange(504..<512, with: $0) }
      #expect(changed.withUnsafeBytes { StoreIdentity.read($0) } == .damaged, "\(offset)")
    }
    var header = CheckpointHeader(
      isClean: true, generation: 5, position: WALPosition(use: 1, offset: WALFileHeader.frameStart, sequence: 9),
      opening: 1, nextRecord: 1, made: 1, nextSegment: 1, identity: identity)
    header.bodyWordCount = CheckpointHeader.bodyWords(keys: 0, blobs: 0, segments: 0, largeCounts: 0, useTimes: 0)
    for count in [0, 1, CheckpointHeader.mostEntrySums, CheckpointHeader.mostEntrySums + 1] {
      header.entrySums = (0..<count).map { .init(group: $0, entryCount: $0 * 7, byteCount: $0 << 40) }
      let read = header.encoded().withUnsafeBytes { CheckpointHeader($0) }
      #expect(read == (count > CheckpointHeader.mostEntrySums ? nil : header), "\(count)")
    }
    header.entrySums = []
    var forged = header.encoded()
    for index in 168..<176 { forged[index] = 0xFF }
    GoldenCheckpoint.sign(&forged)
    #expect(forged.withUnsafeBytes { CheckpointHeader($0) } == nil)
  }

  @Test func aReaderTellsTheUseOfStyles() throws {
    let store = try open([small: StyleBudget(count: 30)])
    try put(store, small, 0..<20)
    try store.flush()
    let reader = try world.openReadOnly("store", .firstRead)
    #expect(reader.styleBudgets.map(\.entryCount) == [20])
    try put(store, small, 20..<40)
    try store.remove("u39", style: small)
    _ = try reader.refresh()
    #expect(reader.styleBudgets == store.styleBudgets && reader.statistics().styles.map(\.entryCount) == [29])
    try reader.close()
    try store.close()
  }

  /// The records of synced puts are in the log alone.
  @Test func entriesThatTheLogAloneHasAreCounted() throws {
    let store = try open()
    for number in 0..<10 {
      try store.put(
        noise(1000, UInt64(number)), for: "u\(number)", style: small, options: PutOptions(durability: .synced))
    }
    try store.setStyleBudget(StyleBudget(count: 250), for: small)
    var image = disk.image
    for name in image.keys where name.hasPrefix("segments/") {
      image[name] = [UInt8](repeating: 0, count: image[name]!.count)
    }
    store.abandon()
    let again = try open(nil, nil, TestWorld(fileSystem: MemoryDisk(image), seed: 2))
    #expect(again.styleBudgets.map(\.byteCount) == [10_000] && numbers(again, small, 0..<10).count == 10)
    for number in 0..<10 { try again.put(noise(10), for: "u\(number)", style: small) }
    #expect(again.styleBudgets.map(\.byteCount) == [100])
    try again.close()
  }

  @Test func invalidBudgetsAreRefused() throws {
    let store = try open()
    let error = StoreError.invalidArgument("the budget of style square-60 has no limit")
    #expect(storeError { try store.setStyleBudget(StyleBudget(), for: small) } == error)
    for budget in [StyleBudget(byteCount: 0), StyleBudget(count: 0), StyleBudget(count: -1)] {
      let error = StoreError.invalidArgument(
        "the budget of style square-60 must be 1 byte or more, and 1 to 4294967295 entries")
      #expect(storeError { try store.setStyleBudget(budget, for: small) } == error)
    }
    for number in 0..<12 { try store.setStyleBudget(StyleBudget(count: 5), for: Style("s\(number)")!) }
    #expect(
      storeError { try store.setStyleBudget(StyleBudget(count: 5), for: small) }
        == .invalidArgument("at most 12 styles have budgets, not 13"))
    #expect(store.styleBudgets.count == 12)
    try store.close()
    let long = Style(String(repeating: "x", count: 195))!
    #expect(
      storeError { _ = try open([long: StyleBudget(count: 1)]) }
        == .invalidArgument("the names of 1 styles with budgets have at most 194 bytes, not 195"))
    let fits = Style(String(repeating: "x", count: 194))!
    let again = try open([fits: StyleBudget(byteCount: .max, count: 1 << 32 - 1)])
    #expect(again.styleBudgets.map(\.style) == [fits])
    try again.close()
    #expect(try open().styleBudgets.map(\.budget) == [StyleBudget(byteCount: .max, count: 1 << 32 - 1)])
  }

  @Test func aStoreThatIsRecreatedKeepsTheBudgets() throws {
    let folder = try TemporaryFolder()
    let options = StoreOptions(
      byteBudget: 8 << 20, recreatesIfRemoved: true)
    let store = try CacheStore.open(at: folder.store, options: options)
    try store.setStyleBudget(StyleBudget(count: 3), for: small)
    try put(store, small, 0..<5)
    try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path + "/gone")
    // Buffered puts look for the folder once in a while only.
    _ = try store.remove("none")
    try put(store, small, 5..<10)
    #expect(store.styleBudgets.map(\.entryCount) == [3])
    try? store.close()
  }

  /// Threads put, overwrite and remove entries of one style. Its budget holds at all times.
  @Test func theBudgetHoldsWhileManyThreadsPut() throws {
    let store = try open([small: StyleBudget(byteCount: 60_000, count: 50)])
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var random = SeededRandom(seed: UInt64(thread))
      for _ in 0..<300 {
        let number = Int(random.next() % 200)
        if random.next() % 8 == 0 {
          try? store.remove("u\(number)", style: small)
        } else {
          try? store.put(noise(500 + Int(random.next() % 2000), random.next()), for: "u\(number)", style: small)
        }
        let use = store.styleBudgets[0]
        #expect(use.entryCount <= 50 && use.byteCount <= 60_000)
      }
    }
    let left = numbers(store, small, 0..<200)
    let byteCount = left.reduce(0) { $0 + (store.bytes("u\($1)", style: small)?.count ?? 0) }
    #expect(store.styleBudgets.map(\.entryCount) == [left.count] && store.styleBudgets.map(\.byteCount) == [byteCount])
    try store.close()
  }
}
