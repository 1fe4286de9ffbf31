import Testing

@testable import Vitrine

/// Pinned entries of a full store move with the log.
@Suite struct PinnedCopiesTests {
  /// The copies of the pinned records have more bytes than the share of puts that copies may take.
  @Test(arguments: EvictionPolicy.allCases) func pinnedEntriesAreCopiedBeyondTheLimitOfCopies(
    _ policy: EvictionPolicy
  ) throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store", StoreOptions(byteBudget: 8 << 20, policy: policy))
    let pinned = (0..<1000).filter { $0 % 4 == 0 }
    for number in 0..<4000 {
      var options = PutOptions()
      options.isPinned = number < 1000 && number % 4 == 0
      try store.put(noise(7000, UInt64(number)), for: CacheKey("k\(number)", .original), options: options)
      if number % 50 == 0 { world.background.run() }
    }
    #expect(pinned.filter { store.contains(CacheKey("k\($0)", .original)) } == pinned)
    #expect(try store.verify().isOK && store.statistics().bytesOnDisk <= 8 << 20)
    try store.close()
  }
}
