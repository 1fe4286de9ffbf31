import Testing

@testable import Vitrine

/// An overwrite changes sums and limits by its own entry alone.
@Suite struct ReplacedEntryTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let small = Style("square-60")!

  init() { world = TestWorld(fileSystem: disk) }

  enum Limit: CaseIterable {
    case count, byteCount

    var budget: StyleBudget {
      switch self {
      case .count: StyleBudget(count: 10)
      case .byteCount: StyleBudget(byteCount: 10_000)
      }
    }
  }

  @Test(arguments: Limit.allCases) func anOverwriteInAFullStyleKeepsTheOtherEntries(_ limit: Limit) throws {
    let store = try world.open(
      "store", StoreOptions(byteBudget: 16 << 20, policy: .lru, styleBudgets: [small: limit.budget]))
    for number in 0..<10 { try store.put(noise(1000, UInt64(number)), for: "u\(number)", style: small) }
    for number in 5..<10 { try store.put(noise(1000, UInt64(number + 100)), for: "u\(number)", style: small) }
    #expect((0..<10).filter { store.contains("u\($0)", style: small) } == Array(0..<10))
    #expect(store.styleBudgets.map(\.entryCount) == [10] && store.styleBudgets.map(\.byteCount) == [10_000])
    try store.close()
  }

  /// The pinned style is the one that was not used for longest.
  @Test func aStyleTooManyLeavesThePinnedOne() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: .lru, maximumStylesPerURL: 3))
    for number in 0..<3 { try store.put(noise(100), for: "u", style: Style("s\(number)")!) }
    try store.pin(CacheKey("u", Style("s0")!))
    for number in 1..<3 { try store.put(noise(200), for: "u", style: Style("s\(number)")!) }
    try store.put(noise(100), for: "u", style: Style("s3")!)
    #expect((0..<4).filter { store.contains("u", style: Style("s\($0)")!) } == [0, 2, 3])
    try store.close()
  }

  @Test func aReaderCountsPinnedEntriesThatWereMovedAndRemoved() throws {
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20))
    for number in 0..<300 { try store.put(noise(7000, UInt64(number)), for: "k\(number)") }
    for number in stride(from: 0, to: 300, by: 30) { try store.pin(CacheKey("k\(number)")) }
    for number in 0..<300 where number % 30 != 0 { try store.remove("k\(number)") }
    try store.flush()
    let reader = try world.openReadOnly("store", .firstRead)
    #expect(reader.statistics().pins?.entryCount == 10)
    #expect(try store.probe.steps.compact() >= 10)
    for number in [0, 60, 270] { try store.remove("k\(number)") }
    try store.put(noise(500), for: "k120")
    try store.unpin(CacheKey("k150"))
    try store.flush()
    #expect(try reader.refresh())
    #expect(reader.probe.follower?.loadCount == 0)
    #expect(store.statistics().pins?.entryCount == 6)
    #expect(reader.statistics().pins == store.statistics().pins)
    try reader.close()
    try store.close()
  }
}
