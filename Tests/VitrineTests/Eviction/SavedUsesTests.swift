import Testing

@testable import Vitrine

/// Recency that is kept apart from the index: hits write few bytes, and a later opening knows the order.
@Suite struct SavedUsesTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy = .lru) throws -> CacheStore {
    try world.open("store", StoreOptions(byteBudget: 64 << 20, policy: policy))
  }

  /// A store with so many entries that no checkpoint writes all of them.
  private func filled(_ count: Int, _ policy: EvictionPolicy = .lru) throws -> CacheStore {
    let store = try open(policy)
    var batch = WriteBatch()
    for number in 0..<count { batch.put([1], for: CacheKey("u\(number)")) }
    try store.write(batch)
    try store.close()
    return try open(policy)
  }

  private func pass(_ minutes: Int) {
    for _ in 0..<minutes {
      world.background.run()
      world.clock.advance(60_000)
    }
    world.background.run()
  }

  @Test(arguments: [EvictionPolicy.lru, .s3fifo, .sieve]) func getsWriteNoIndexAndFewBytes(_ policy: EvictionPolicy)
    throws
  {
    let store = try filled(20_000, policy)
    pass(2)
    let roots = ["checkpoints/0.checkpoint", "checkpoints/1.checkpoint", "checkpoints/area"]
    let before = roots.map { disk.image[$0] }
    let written = Guarded(0)
    disk.onWrite.withLock { $0 = { path, _ in if path.hasPrefix("checkpoints/") { written.withLock { $0 += 1 } } } }
    var random = SeededRandom(seed: 5)
    for _ in 0..<120 {
      for _ in 0..<800 { #expect(store["u\(random.below(20_000))"] != nil) }
      pass(1)
    }
    #expect(roots.map { disk.image[$0] } == before)
    let bytes = written.withLock { $0 } * UseBlock.byteCount
    #expect(bytes > 0 && bytes <= 3 * (1 << 20 + 20_000), "\(bytes)")
    store.abandon()
  }

  @Test(arguments: [EvictionPolicy.lru, .s3fifo, .sieve]) func savedOrderSurvivesProcessDeath(
    _ policy: EvictionPolicy
  ) throws {
    let store = try filled(20_000, policy)
    var used: [Int] = []
    for number in [3, 19_999, 7, 12_000, 5, 4000] + Array(100..<1500) {
      #expect(store["u\(number)"] != nil)
      used.append(number)
    }
    pass(2)
    // No other upkeep may come.
    store.abandon()
    let again = try open(policy)
    let order = try again.keysByRecency().prefix(used.count).map(\.urlText)
    #expect(order == used.reversed().map { "u\($0)" })
    try again.close()
  }

  @Test func theOrderSurvivesACloseAndChangesAreInterleaved() throws {
    var store = try filled(20_000)
    for number in 0..<10 { #expect(store["u\(number)"] != nil) }
    try store.put([2], for: "new")
    for number in 10..<20 { #expect(store["u\(number)"] != nil) }
    try store.close()
    store = try open()
    let order = try store.keysByRecency().prefix(21).map(\.urlText)
    #expect(order == (10..<20).reversed().map { "u\($0)" } + ["new"] + (0..<10).reversed().map { "u\($0)" })
    // Uses of an earlier opening are older than those of this one, and puts after a pass younger than its uses.
    #expect(store["u5"] != nil)
    pass(2)
    try store.put([3], for: "newer")
    try store.flush()
    store.abandon()
    store = try open()
    #expect(try store.keysByRecency().prefix(3).map(\.urlText) == ["newer", "u5", "u19"])
    try store.close()
  }

  @Test func putsAfterManySavedUsesAreTheYoungest() throws {
    var store = try filled(20_000)
    for number in 0..<2000 { #expect(store["u\(number)"] != nil) }
    pass(2)
    for number in 0..<5 { try store.put([2], for: CacheKey("new\(number)")) }
    try store.flush()
    store.abandon()
    store = try open()
    let newest = (0..<5).reversed().map { "new\($0)" } + (1900..<2000).reversed().map { "u\($0)" }
    #expect(try store.keysByRecency().prefix(newest.count).map(\.urlText) == newest)
    try store.close()
  }

  /// The allowance of a new opening is 1 MiB, of which a pass may take a half.
  @Test func usesBeyondTheAllowanceWait() throws {
    let store = try filled(70_000)
    pass(2)
    let written = Guarded(0)
    disk.onWrite.withLock { $0 = { path, _ in if path == "checkpoints/uses" { written.withLock { $0 += 1 } } } }
    for number in 0..<70_000 { #expect(store["u\(number)"] != nil) }
    pass(5)
    #expect(written.withLock { $0 } == 0)
    pass(8)
    let bytes = written.withLock { $0 } * UseBlock.byteCount
    #expect(bytes > 0 && bytes <= 1 << 20, "\(bytes)")
    // The close writes those that were left out.
    try store.close()
    let all = written.withLock { $0 } * UseBlock.byteCount
    #expect(all - bytes > 40_000, "\(all - bytes)")
  }

  /// Stamps have 32 bits. With only gets, no checkpoint dates the entries again.
  @Test func entriesStayOldAfterBillionsOfUses() throws {
    let store = try filled(20_000)
    #expect(store["u7"] != nil)
    for step in 0..<9 {
      store.probe.setRecencyClock(store.probe.recencyCount + 1 << 29)
      #expect(store["u\(100 + step)"] != nil)
      pass(2)
    }
    let order = try store.keysByRecency().prefix(10).map(\.urlText)
    #expect(order == (100..<109).reversed().map { "u\($0)" } + ["u7"])
    store.abandon()
    let again = try open()
    // The order of entries that were not used for 2.7 billion uses is forgotten.
    #expect(try again.keysByRecency().prefix(5).map(\.urlText) == (104..<109).reversed().map { "u\($0)" })
    #expect(again.probe.recencyCount > 9 << 29)
    try again.close()
  }

  @Test func aRebuiltIndexForgetsEarlierUses() throws {
    let store = try filled(20_000)
    #expect(store["u7"] != nil)
    try store.close()
    var image = disk.image
    #expect(image["checkpoints/uses"] != nil)
    for index in 0..<2 { image["checkpoints/\(index).checkpoint"] = [UInt8](repeating: 0x55, count: 8192) }
    let rebuilt = MemoryDisk(image)
    let again = try TestWorld(fileSystem: rebuilt).open("store", StoreOptions())
    #expect(again.statistics().lastOpen.kind == .rebuilt && again.count == 20_000)
    #expect(rebuilt.image["checkpoints/uses"] == nil)
    #expect(again.statistics().bytesOnDisk >= rebuilt.image.values.reduce(0) { $0 + $1.count })
    try again.close()
  }

  @Test func aFileOfAnyBytesIsHarmless() throws {
    let store = try filled(20_000)
    #expect(store["u7"] != nil)
    try store.close()
    var random = SeededRandom(seed: 1)
    for byteCount in [0, 1, 4095, 8192, 100_000] {
      var image = disk.image
      image["checkpoints/uses"] = random.bytes(byteCount)
      let other = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions())
      #expect(other.count == 20_000 && other["u9"] == [1])
      try other.close()
    }
  }

  @Test func longFileIsRemovedAfterItsEntries() throws {
    let store = try filled(20_000)
    for number in 0..<20_000 { #expect(store["u\(number)"] != nil) }
    pass(2)
    #expect(disk.image["checkpoints/uses"]?.count ?? 0 >= 20_000 * 8)
    try store.removeAll()
    try store.put([1], for: "a")
    try store.idle()
    #expect(disk.image["checkpoints/uses"] == nil)
    #expect(store.statistics().bytesOnDisk >= disk.image.values.reduce(0) { $0 + $1.count })
    #expect(store["a"] != nil)
    pass(2)
    #expect(disk.image["checkpoints/uses"]?.count == UseRing.leastBlocks * UseBlock.byteCount)
    try store.close()
  }

  /// A few uses in each of many short sessions do not displace those of earlier ones.
  @Test func usesOfEarlierSessionsStay() throws {
    var store = try filled(20_000)
    for number in 0..<30 {
      #expect(store["u\(number)"] != nil)
      try store.close()
      store = try open()
    }
    #expect(try store.keysByRecency().prefix(30).map(\.urlText) == (0..<30).reversed().map { "u\($0)" })
    #expect(disk.image["checkpoints/uses"]?.count == UseRing.leastBlocks * UseBlock.byteCount)
    try store.close()
  }

  @Test func aReaderKnowsTheOrder() throws {
    let store = try filled(20_000)
    for number in [5, 3, 9] { #expect(store["u\(number)"] != nil) }
    pass(2)
    let reader = try world.openReadOnly("store")
    #expect(try reader.keysByRecency().prefix(3).map(\.urlText) == ["u9", "u3", "u5"])
    try reader.close()
    try store.close()
  }
}
