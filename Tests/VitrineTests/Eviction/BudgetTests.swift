import Testing

@testable import Vitrine

/// The promises about budgets, on a real disk with background upkeep, measured like `du`.
@Suite struct BudgetTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var byteBudget: Int = 1 << 30
    var entryBudget = 0
    var sizes: ClosedRange<Int>
    var putCount: Int
    var styleCount = 1
    var heldBlobs = 0
    var stalledWriters = 0
    var isHalved = false

    var testDescription: String { name }
  }

  private static let scale = RandomRuns.isExhaustive ? 5 : 1

  static let cases = [
    Case(name: "bytes", byteBudget: 16 << 20, sizes: 2000...40_000, putCount: 2000 * scale),
    Case(name: "entries", entryBudget: 20, sizes: 2000...40_000, putCount: 2000 * scale),
    Case(
      name: "both, with large pictures", byteBudget: 50 << 20, entryBudget: 20, sizes: 1_000_000...8_000_000,
      putCount: 60 * scale),
    Case(name: "large pictures", byteBudget: 50 << 20, sizes: 1_000_000...8_000_000, putCount: 60 * scale),
    Case(name: "200 styles", byteBudget: 16 << 20, sizes: 2000...40_000, putCount: 2000 * scale, styleCount: 200),
    Case(name: "1,000 Blobs", byteBudget: 16 << 20, sizes: 2000...40_000, putCount: 2000 * scale, heldBlobs: 1000),
    Case(
      name: "100 stalled writers", byteBudget: 16 << 20, sizes: 2000...40_000, putCount: 1000 * scale,
      stalledWriters: 100),
    Case(name: "a halved budget", byteBudget: 32 << 20, sizes: 2000...40_000, putCount: 2500 * scale, isHalved: true),
  ]

  @Test(arguments: cases, [EvictionPolicy.lru, .s3fifo, .sieve])
  func folderStaysInsideItsBudgetAndTheOldestAreEvicted(_ test: Case, _ policy: EvictionPolicy) throws {
    let folder = try TemporaryFolder()
    let store = try CacheStore.open(
      at: folder.store,
      options: StoreOptions(byteBudget: test.byteBudget, entryBudget: test.entryBudget, policy: policy))
    var random = SeededRandom(seed: UInt64(test.putCount))
    var order = UsageOrder()
    var blobs: [Blob] = []
    let writers = try (0..<test.stalledWriters).map { number in
      let writer = try store.writer(for: "stalled\(number)", length: number % 2 == 0 ? 30_000 : nil)
      // Most of them do not fit under the cap, and stay unfinished.
      if number < 20 { _ = storeError { try writer.write(noise(20_000)) } }
      return writer
    }
    var byteBudget = test.byteBudget
    let pool = noise(test.sizes.upperBound + test.putCount)
    for number in 0..<test.putCount {
      let size = test.sizes.lowerBound + random.below(test.sizes.count)
      let key = "u\(number)"
      let style = test.styleCount > 1 ? Style("s\(number % test.styleCount)")! : .original
      try store.put(Array(pool[number..<number + size]), for: key, style: style)
      order.put(key)
      if number % 2 == 0 {
        let older = "u\(number - random.below(min(number + 1, 400)))"
        let style = test.styleCount > 1 ? Style("s\(Int(older.dropFirst())! % test.styleCount)")! : .original
        if let blob = store.blob(older, style: style) {
          order.hit(older)
          if blobs.count < test.heldBlobs { blobs.append(blob) }
        }
      }
      if test.isHalved, number == test.putCount / 2 {
        byteBudget /= 2
        try store.setBudgets(byteBudget: byteBudget)
      }
      if number % 50 == 0 || number == test.putCount - 1 {
        #expect(try Files.diskUsage(folder.store) <= byteBudget, "after \(number) puts")
        if test.entryBudget > 0 { #expect(store.count <= test.entryBudget) }
      }
    }
    if policy == .lru {
      let left = order.expectOrder(store, styles: test.styleCount)
      #expect(left >= store.count, "upkeep may have gone on")
      // Pictures of 4.5 MB need more than 50 MiB for 20 of them.
      if test.entryBudget > 0, test.sizes.upperBound < 1_000_000 { #expect(left == 20) }
    }
    let statistics = store.statistics()
    if test.name != "entries", test.heldBlobs == 0, test.stalledWriters == 0 {
      // Less one picture if pictures are larger than a segment.
      let spared = test.sizes.upperBound > Sizing.segmentByteCount(budget: byteBudget) ? test.sizes.upperBound : 0
      #expect(statistics.logicalByteCount >= byteBudget * 85 / 100 - spared)
    }
    withExtendedLifetime((blobs, writers)) {}
    #expect(try store.verify().isOK)
    try store.close()
    #expect(try Files.diskUsage(folder.store) <= byteBudget)
  }

  /// In a budget of twice the live bytes, as many puts as overwrite everything three times: each entry three times
  /// in a random order, or any entry each time.
  @Test(
    arguments: RandomRuns.isSanitized ? [.lru] : EvictionPolicy.allCases,
    RandomRuns.isSanitized ? [true] : [true, false])
  func overwrittenValueFreesItsSpace(_ policy: EvictionPolicy, _ isEven: Bool) throws {
    let folder = try TemporaryFolder()
    let (count, size) = (600, 30_000)
    let budget = 2 * count * size
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: budget, policy: policy))
    var random = SeededRandom(seed: 5)
    let pool = noise(size + 4 * count)
    for number in 0..<count { try store.put(Array(pool[number..<number + size]), for: "u\(number)") }
    let order = (0..<3 * count).map { isEven ? $0 % count : random.below(count) }.shuffled(using: &random)
    for (step, number) in order.enumerated() {
      let from = count + step + 1
      try store.put(Array(pool[from..<from + size]), for: "u\(number)")
      if step % 100 == 0 { #expect(try Files.diskUsage(folder.store) <= budget) }
    }
    #expect(store.statistics().evictedCount == 0 && store.count == count)
    #expect(store.statistics().writeAmplification <= 1.3)
    // A round of upkeep may make a spare right after it.
    var used = Int.max
    for _ in 0..<20 where used > count * size * 115 / 100 {
      #expect(try store.idle())
      used = try Files.diskUsage(folder.store)
    }
    #expect(used <= count * size * 115 / 100)
    // Settling writes too. If by chance more entries were not overwritten, more records are moved.
    if isEven { #expect(store.statistics().writeAmplification <= 1.3) }
    #expect(store.count == count)
    #expect(try store.verify().isOK)
    try store.close()
  }
}
