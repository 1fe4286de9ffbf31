import Testing

@testable import Vitrine

@Suite struct ModelTests {
  @Test(arguments: RandomRuns.seeds([1, 2, 3, 4, 5, 6]))
  func randomChangesMatchADictionaryAndAClock(_ seed: UInt64) throws { try run(seed, .mapped) }

  @Test(arguments: RandomRuns.seeds([21, 22]))
  func storeWithoutMappingsMatchesTheModel(_ seed: UInt64) throws { try run(seed, .copied) }

  /// Fewer descriptors and mappings than segments: files are closed and reopened, and segments unmapped and mapped.
  @Test(arguments: RandomRuns.seeds([31, 32, 33]))
  func storeWithFewDescriptorsMatchesTheModel(_ seed: UInt64) throws { try run(seed, .mapped, isScarce: true) }

  @Test(arguments: RandomRuns.seeds([41]))
  func storeWithoutMappingsAndWithFewDescriptorsMatchesTheModel(_ seed: UInt64) throws {
    try run(seed, .copied, isScarce: true)
  }

  private func run(_ seed: UInt64, _ reads: ReadMode, isScarce: Bool = false) throws {
    let disk = MemoryDisk()
    func resources() -> Resources {
      isScarce ? Resources(files: FileCache { 0 }, mappedSegments: 3) : Resources()
    }
    let current = Guarded(disk)
    let run = try ModelRun(
      seed: seed, world: TestWorld(fileSystem: disk, seed: seed, resources: resources()), path: "store",
      options: StoreOptions(
        byteBudget: (2 << 20) << Int(seed % 3), entryBudget: seed % 4 == 3 ? 40 : nil,
        segmentByteCount: 65_536 << Int(seed % 2),
        maximumAgeMilliseconds: seed % 2 == 0 ? 30_000 : nil, reads: reads)
    ) { _ in
      let copy = MemoryDisk(current.withLock { $0 }.image)
      current.withLock { $0 = copy }
      return (
        TestWorld(
          fileSystem: copy, seed: seed &+ copy.image.values.reduce(0) { $0 &+ UInt64($1.count) },
          resources: resources()),
        "store"
      )
    }
    try run.run(steps: RandomRuns.isExhaustive ? 4000 : 400)
  }

  @Test(arguments: RandomRuns.seeds([11, 12]))
  func realDiskMatchesTheModel(_ seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var copies = 0
    let run = try ModelRun(
      seed: seed, world: TestWorld(seed: seed), path: folder.store,
      options: StoreOptions(byteBudget: 8 << 20, segmentByteCount: 64 << 10)
    ) { run in
      copies += 1
      let path = "\(folder.path)/copy\(copies)"
      try Files.copyFolder(run.currentPath, to: path)
      return (TestWorld(seed: seed &+ UInt64(copies)), path)
    }
    try run.run(steps: 300)
  }

  @Test func reportedBytesOnDiskMatchTheDisk() throws {
    let folder = try TemporaryFolder()
    let world = TestWorld()
    let store = try world.open(folder.store)
    for round in 0..<6 {
      for index in 0..<20 {
        try store.put(noise(9000, UInt64(round * 20 + index)), for: "u\(round)-\(index)")
      }
      try store.put(noise(200_000, UInt64(round)), for: "large")
      if round % 2 == 1 { try store.removeAll(prefix: "u\(round - 1)") }
      world.background.run()
      #expect(try store.statistics().bytesOnDisk == Files.diskUsage(folder.store), "round \(round)")
    }
    try store.removeAll()
    world.background.run()
    #expect(try store.statistics().bytesOnDisk == Files.diskUsage(folder.store))
  }
}
