import Testing
import VitrineSimulation

@testable import Vitrine

/// Every number that an option accepts is stored, read again, and handled, also on a full disk.
@Suite struct OptionLimitTests {
  static let byteBudgets = [1 << 20, 900_000_000_000_000_000, CacheFormat.largestBudget, 1 << 60, .max]

  /// Each option at its limits, alone, and all at their largest.
  static let limits: [StoreOptions] =
    byteBudgets.map { StoreOptions(byteBudget: $0) }
    + [0, 1, .max].map { StoreOptions(byteBudget: 2 << 20, entryBudget: $0) }
    + [64 << 10, 64 << 20].map { StoreOptions(byteBudget: 1 << 30, segmentByteCount: $0) }
    + [0, 19].map { StoreOptions(byteBudget: 2 << 20, compressionLevel: $0) }
    + [0, 1 << 40, .max].map { StoreOptions(byteBudget: 2 << 20, maximumAgeMilliseconds: $0) }
    + [0, 1 << 40, .max].map { StoreOptions(byteBudget: 2 << 20, maximumIdleMilliseconds: $0) }
    + [.min, .max].map { StoreOptions(byteBudget: 2 << 20, waitForLockMilliseconds: $0) }
    + [
      StoreOptions(
        byteBudget: .max, entryBudget: .max, durability: .synced, segmentByteCount: 64 << 10, compressionLevel: 19,
        maximumAgeMilliseconds: .max, maximumIdleMilliseconds: .max, waitForLockMilliseconds: .max)
    ]

  private static func open(_ world: SimulatedWorld, _ options: StoreOptions = StoreOptions()) throws -> CacheStore {
    try CacheStore.open(at: "/store", options: options, environment: world.environment)
  }

  private static func expectKept(_ store: CacheStore, _ options: StoreOptions) throws {
    #expect(store["a"] == noise(3000, 1))
    #expect(store.byteBudget == min(try #require(options.byteBudget), StoreOptions.largestByteBudget))
    #expect(store.statistics().entryBudget == options.entryBudget ?? 0)
    #expect(try store.verify().isOK)
  }

  @Test(arguments: limits.indices) func optionIsKeptAndHolds(_ index: Int) throws {
    let options = Self.limits[index]
    let world = SimulatedWorld()
    var store = try Self.open(world, options)
    try store.put(noise(3000, 1), for: "a", options: PutOptions(durability: .synced))
    try Self.expectKept(store, options)
    try store.setBudgets(byteBudget: options.byteBudget, entryBudget: options.entryBudget)
    try store.close()
    let reader = try Self.open(world, StoreOptions(isReadOnly: true))
    try Self.expectKept(reader, options)
    try reader.close()

    store = try Self.open(world)
    try Self.expectKept(store, options)
    _ = try store.compact()
    try store.idle()
    world.disk.fillUp()
    var refusals = 0
    for number in 0..<60 {
      let error = storeError { try store.put(noise(40_000, 2 + UInt64(number)), for: "k\(number)") }
      if error != nil { refusals += 1 }
      #expect(error == nil || error == .noSpace)
    }
    for number in 0..<60 { try store.remove("k\(number)") }
    world.background.runAll()
    try store.close()
    try Self.open(world).close()
    #expect(refusals < 60)
  }

  @Test(arguments: byteBudgets) func budgetChangedWhileOpenIsKept(_ budget: Int) throws {
    let world = SimulatedWorld()
    var store = try Self.open(world, StoreOptions(byteBudget: 2 << 20))
    try store.put(noise(3000, 1), for: "a")
    let least = store.probe.leastBudget
    try store.setBudgets(byteBudget: max(budget, least), entryBudget: .max)
    try store.close()
    store = try Self.open(world)
    #expect(store.byteBudget == min(max(budget, least), CacheFormat.largestBudget) && store["a"] == noise(3000, 1))
    // Back to a small budget.
    try store.setBudgets(byteBudget: 2 << 20)
    #expect(store["a"] == noise(3000, 1))
    try store.close()
  }

  /// Earlier versions stored such budgets and then rejected their own files as damaged.
  @Test func storeWithABudgetBeyondTheLargestOpensAgain() throws {
    let world = SimulatedWorld()
    try { store in
      try store.put(noise(3000, 1), for: "a")
      try store.close()
    }(Self.open(world, StoreOptions(byteBudget: 2 << 20)))
    func raise(_ bytes: inout [UInt8], at copy: Int) {
      let raised = UInt64(2_000_000_000_000_000_000)
      withUnsafeBytes(of: raised.littleEndian) { bytes.replaceSubrange(copy + 232..<copy + 240, with: $0) }
      let sum = bytes[copy..<copy + 504].withUnsafeBytes { Checksum.of($0, seed: StoreIdentity.magic) }
      withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(copy + 504..<copy + 512, with: $0) }
    }
    #expect(
      world.disk.damage("/store/STORE") { bytes in
        for copy in [0, StoreIdentity.secondCopy] { raise(&bytes, at: copy) }
      })
    for name in ["0.checkpoint", "1.checkpoint"] {
      #expect(
        world.disk.damage("/store/checkpoints/\(name)") { bytes in
          guard bytes.withUnsafeBytes({ CheckpointHeader($0) }) != nil else { return }
          raise(&bytes, at: 512)
          GoldenCheckpoint.sign(&bytes)
        })
    }
    for options in [StoreOptions(isReadOnly: true), StoreOptions()] {
      let store = try Self.open(world, options)
      #expect(store.byteBudget == StoreOptions.largestByteBudget && store["a"] == noise(3000, 1))
      #expect(store.statistics().lastOpen.kind == .clean)
      try store.close()
    }
  }

  @Test func expirationsAtTheirLimitsAreKept() throws {
    let world = SimulatedWorld()
    var store = try Self.open(world, StoreOptions(byteBudget: 2 << 20))
    for (name, moment) in [("least", Int64.min), ("zero", 0), ("most", .max)] {
      try store.put([1], for: CacheKey(name), options: PutOptions(expirationMilliseconds: moment))
      try store.put([2], for: CacheKey("set-\(name)"))
      try store.setExpiration(moment, for: CacheKey("set-\(name)"))
    }
    for (name, duration) in [("short", Int64(1)), ("long", .max)] {
      try store.put([3], for: CacheKey(name), options: PutOptions(slidingExpirationMilliseconds: duration))
    }
    #expect(
      storeError { try store.put([1], for: "none", options: PutOptions(slidingExpirationMilliseconds: 0)) } != nil)
    for _ in 0..<2 {
      #expect(store["most"] == [1] && store["set-most"] == [2] && store["long"] == [3])
      #expect(store["least"] == nil && store["set-least"] == nil && store["zero"] == nil && store["set-zero"] == nil)
      world.clock.advance(milliseconds: 120_000)
      #expect(store["short"] == nil)
      for _ in 0..<4 { world.background.runAll() }
      #expect(try store.verify().isOK)
      try store.close()
      store = try Self.open(world)
    }
    try store.close()
  }

  /// Segments without an index are no empty store, neither for a reader nor for a writer.
  @Test(arguments: [true, false]) func storeWithoutItsIndexIsUnreadable(_ isRemoved: Bool) throws {
    let world = SimulatedWorld()
    try { store in
      try store.put(noise(3000, 1), for: "a")
      try store.close()
    }(Self.open(world, StoreOptions(byteBudget: 2 << 20)))
    for name in ["STORE", "checkpoints/0.checkpoint", "checkpoints/1.checkpoint"] {
      let path = "/store/\(name)"
      #expect(isRemoved ? world.disk.remove(path) : world.disk.damage(path) { for i in $0.indices { $0[i] = 7 } })
    }
    for options in [StoreOptions(isReadOnly: true), StoreOptions(), StoreOptions(createsIfMissing: false)] {
      guard case .unreadable? = storeError({ _ = try Self.open(world, options) }) else {
        Issue.record("not refused")
        return
      }
    }
  }
}
