import Testing

@testable import Vitrine

/// A store keeps a minimum of free disk bytes for other programs.
@Suite struct DiskMinimumTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy? = nil, minimum: Int? = nil) throws -> CacheStore {
    try world.open(
      "store",
      StoreOptions(byteBudget: 16 << 20, minimumFreeBytes: minimum, segmentByteCount: 128 << 10, policy: policy))
  }

  /// Puts entries of 7,000 bytes that do not compress.
  private func fill(_ store: CacheStore, _ numbers: Range<Int>) throws {
    for index in numbers {
      try store.put(noise(7000, UInt64(index)), for: "u\(index)")
      if index % 20 == 0 { world.background.run() }
    }
  }

  /// Opens a store with a minimum of 8 MiB, fills it, and leaves fewer free bytes of the disk.
  private func openFilled(_ count: Int, leaving available: Int) throws -> CacheStore {
    disk.capacity.withLock { $0 = 64 << 20 }
    let store = try open(minimum: 8 << 20)
    try fill(store, 0..<count)
    leave(available)
    return store
  }

  /// Changes the size of the disk so that `available` bytes are free.
  private func leave(_ available: Int) {
    let free = disk.availableByteCount
    disk.capacity.withLock { $0 = ($0 ?? 0) + available - free }
  }

  @Test(arguments: [EvictionPolicy.lru, .s3fifo]) func upkeepEvictsBelowTheMinimum(_ policy: EvictionPolicy)
    throws
  {
    disk.capacity.withLock { $0 = 64 << 20 }
    let store = try open(policy, minimum: 8 << 20)
    try fill(store, 0..<1000)
    #expect(store.count == 1000)
    for available in [6 << 20, 7 << 20, 7 << 20] {
      leave(available)
      world.background.run()
      #expect(disk.availableByteCount >= 8 << 20)
    }
    #expect((300..<700).contains(store.count))
    if policy == .lru { #expect((1000 - store.count..<1000).allSatisfy { store.contains("u\($0)") }) }
    #expect(try store.verify().isOK)
    // There is room again.
    disk.capacity.withLock { $0 = 64 << 20 }
    try fill(store, 0..<1000)
    #expect(store.count == 1000)
    try store.close()
  }

  @Test(arguments: EvictionPolicy.allCases) func putsLeaveTheMinimumFree(_ policy: EvictionPolicy) throws {
    disk.capacity.withLock { $0 = 14 << 20 }
    let store = try open(policy, minimum: 8 << 20)
    for round in 0..<20 {
      try fill(store, round * 100..<round * 100 + 100)
      #expect(store.contains("u\(round * 100 + 99)"))
      world.background.run()
      #expect(disk.availableByteCount >= 8 << 20, "round \(round)")
    }
    #expect(store.count > 400)
    #expect(try store.verify().isOK)
    try store.close()
  }

  /// An empty store on a disk that stays full writes no log, checkpoint or segment until the disk has room again.
  @Test func aDiskThatStaysFullEmptiesTheStoreOnce() throws {
    let store = try openFilled(500, leaving: 1 << 20)
    world.background.run()
    #expect(store.count == 0)
    world.clock.advance(2000)
    world.background.run()
    let writes = Guarded<[String]>([])
    disk.onWrite.withLock { hook in
      hook = { path, _ in if path.contains("/") { writes.withLock { $0.append(path) } } }
    }
    for _ in 0..<5 {
      world.clock.advance(2000)
      world.background.run()
    }
    #expect(writes.withLock { $0 } == [])
    disk.onWrite.withLock { $0 = nil }
    leave(30 << 20)
    try fill(store, 0..<500)
    #expect(store.count == 500)
    try store.close()
  }

  @Test func setBudgetsAppliesAndSavesTheMinimum() throws {
    disk.capacity.withLock { $0 = 12 << 20 }
    let store = try open()
    try fill(store, 0..<1000)
    #expect(store.minimumFreeBytes == 0 && disk.availableByteCount < 6 << 20)
    try store.setBudgets(minimumFreeBytes: 8 << 20)
    #expect(disk.availableByteCount >= 8 << 20 && store.count > 100)
    #expect(store.byteBudget == 16 << 20)
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.minimumFreeBytes == 8 << 20)
    let statistics = again.statistics()
    #expect(statistics.minimumFreeBytes == 8 << 20 && statistics.availableBytes == disk.availableByteCount)
    try again.setBudgets(minimumFreeBytes: 0)
    try again.close()
    #expect(try open().minimumFreeBytes == 0)
  }

  @Test func aNegativeMinimumIsRefused() throws {
    let error = StoreError.invalidArgument("the free bytes of the disk must not be negative: -1")
    #expect(storeError { _ = try open(minimum: -1) } == error)
    let store = try open(minimum: .max)
    #expect(store.minimumFreeBytes == StoreOptions.largestByteBudget)
    #expect(storeError { try store.setBudgets(minimumFreeBytes: -1) } == error)
    try store.close()
  }

  /// Another program takes space while the store gives space back.
  @Test func upkeepTrimsAgainAfterAnotherProgramHasTakenSpace() throws {
    let store = try openFilled(1000, leaving: 7 << 20)
    let taken = Guarded(false)
    disk.onSync.withLock { hook in
      hook = { [disk] _ throws(SystemError) in
        guard
          !taken.withLock({ taken in
            defer { taken = true }
            return taken
          })
        else { return }
        disk.capacity.withLock { $0 = $0! - (2 << 20) }
      }
    }
    world.background.run()
    disk.onSync.withLock { $0 = nil }
    #expect(taken.withLock { $0 } && disk.availableByteCount < 8 << 20)
    world.clock.advance(11_000)
    world.background.run()
    #expect(disk.availableByteCount >= 8 << 20 && store.count > 100)
    try store.close()
  }

  /// The blocks of removed files become free late, as with a reader that has the files open.
  @Test func upkeepCountsBytesThatBecomeFreeLateOnce() throws {
    let store = try openFilled(1000, leaving: 6 << 20)
    disk.hiddenByteCount.withLock { $0 = 4 << 20 }
    world.background.run()
    let count = store.count
    #expect((100..<1000).contains(count) && disk.availableByteCount < 8 << 20)
    for _ in 0..<5 {
      world.clock.advance(1000)
      world.background.run()
    }
    #expect(store.count == count)
    try store.close()
  }
}
