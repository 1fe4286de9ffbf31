import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Rule 8: checkpoint room has allocated blocks.
@Suite struct CheckpointBlocksTests {
  private static let paths = ["0.checkpoint", "1.checkpoint", "area"].map { "\(Workload.path)/checkpoints/\($0)" }
  private static let synced = PutOptions(durability: .synced)

  private static func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  private static func expectBlocks(_ store: CacheStore) throws {
    for slot in store.probe.checkpoints.slots {
      let status = try slot.file?.status()
      #expect((status?.allocatedByteCount ?? 0) >= slot.room)
    }
    #expect(store.probe.checkpointRoom == store.probe.checkpoints.slots.map(\.room).min())
  }

  /// Puts keys until the next one makes the checkpoint files grow, and returns their number.
  private static func fill(_ work: Workload) throws -> Int {
    var count = 0
    while work.store.probe.hasRoomForIndex(moreKeys: 1) {
      try work.store.put([UInt8(truncatingIfNeeded: count)], for: "k\(count)")
      count += 1
    }
    try work.store.flush()
    return count
  }

  /// A checkpoint may need the new length before another sync covers it. The power is lost after each step of the
  /// growth.
  @Test func checkpointFilesThatHaveGrownKeepTheirLength() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 8 << 20))
    func lengths(_ disk: SimulatedDisk) -> [Int] { Self.paths.map { disk.contents($0)?.count ?? 0 } }
    let before = lengths(work.world.disk)
    let count = try Self.fill(work)
    work.markBeginning()
    try work.store.put([1], for: "one more", options: Self.synced)
    let grown = lengths(work.world.disk)
    #expect(grown[2] > before[2])
    #expect(lengths(work.world.disk.crashStates().disk(.everythingLost)) == grown)

    let sites = work.world.disk.operations.filter { $0.index >= work.moments.lowerBound }.map(\.site)
    #expect(sites.count { $0.map { "\($0)".hasPrefix("CheckpointRoom.swift") } == true } >= 4)
    for crash in work.crashes(mixtures: 2, seed: 7, maximumAlone: 2) {
      let world = work.world.rebooted(crash.disk())
      let store = try Self.open(world)
      #expect(store.count >= count && store.bytes("k7") == [7], "\(crash)")
      try store.put([2], for: "another", options: Self.synced)
      try store.checkpoint()
      #expect(
        store.bytes("k\(count - 1)") == [UInt8(truncatingIfNeeded: count - 1)] && world.disk.misuse.isEmpty, "\(crash)")
      try store.close()
    }
  }

  /// The files of checkpoints get their blocks when they grow.
  @Test func checkpointSucceedsOnAFullDisk() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 8 << 20))
    for number in 0..<5000 { try work.store.put([UInt8(truncatingIfNeeded: number)], for: "k\(number)") }
    work.world.disk.fillUp()
    for _ in 0..<2 { try work.store.checkpoint() }
    try work.store.remove("k7", durability: .synced)
    #expect(work.store.count == 4999)
  }

  /// Power loss keeps the length and loses the blocks. The disk may be full afterward.
  @Test(arguments: [false, true]) func lengthWithoutBlocksIsNotRoom(_ isFull: Bool) throws {
    let work = try Workload(options: StoreOptions(byteBudget: 8 << 20))
    let count = try Self.fill(work)
    let first = work.world.disk.operationCount
    try work.store.put([1], for: "one more", options: Self.synced)
    let grown = work.world.disk.operations.filter { $0.index >= first && $0.name == "allocate" }
    #expect(grown.map(\.path) == Self.paths)
    for operation in grown {
      let disk = work.world.disk.crashStates(after: operation.index + 1).disk(.onlyBlocksLost)
      let world = work.world.rebooted(disk)
      if isFull { world.disk.fillUp(refusingNewNames: true) }
      let store = try Self.open(world)
      try Self.expectBlocks(store)
      #expect(store.count == count && store.bytes("k7") == [7])
      do {
        try store.put([2], for: "one more", options: Self.synced)
        #expect(!isFull)
      } catch {
        #expect(isFull && error == .noSpace)
      }
      for _ in 0..<2 { try store.checkpoint() }
      world.disk.setCapacity(.max)
      try store.put([3], for: "another", options: Self.synced)
      try Self.expectBlocks(store)
      world.disk.fillUp(refusingNewNames: true)
      for _ in 0..<2 { try store.checkpoint() }
      try store.close()
      #expect(world.disk.misuse.isEmpty)
      #expect(try Self.open(world).bytes("another") == [3])
    }
  }

  /// A process dies between the growth of the area and its sync. The next process counts the blocks, so it makes them
  /// durable before it changes the log.
  @Test func blocksThatADeadProcessHasAllocatedAreMadeDurable() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 8 << 20))
    _ = try Self.fill(work)
    let first = work.world.disk.operationCount
    try work.store.put([1], for: "one more", options: Self.synced)
    let area = Self.paths[2]
    let grown = try #require(
      work.world.disk.operations.first { $0.index >= first && $0.name == "allocate" && $0.path == area })
    let world = work.world.rebooted(work.world.disk.crashStates(after: grown.index + 1).diskAfterProcessDeath())
    let length = try #require(world.disk.byteCount(area))
    #expect(world.disk.crashStates().disk(.everythingLost).byteCount(area) != length)
    let begun = world.disk.operationCount
    let store = try Self.open(world)
    let change = try #require(world.disk.lastOperations(since: begun).first { $0.path.contains("/wal/") })
    #expect(world.disk.crashStates(after: change.index).disk(.everythingLost).byteCount(area) == length)
    store.abandon()
  }

  /// A file that grows again, to less than the length that a crash has left it.
  @Test func allocatedBlocksCountUpToTheirEnd() throws {
    let disk = SimulatedWorld().disk
    let file = try disk.openDirectory("/folder", create: true).openFile("0.checkpoint", .create)
    try file.truncate(to: 10 * 4096)
    var slot = CheckpointSet.Slot(file: file, header: nil, room: 4096, chargedByteCount: 4096)
    try file.allocate(byteCount: 3 * 4096)
    // Its length without blocks is neither used nor charged.
    #expect(try slot.noteRoom(3 * 4096) == 2 * 4096 && slot.room == 3 * 4096)
    try file.allocate(byteCount: 12 * 4096)
    #expect(try slot.noteRoom(12 * 4096) == 9 * 4096 && slot.room == 12 * 4096)
  }

  /// An interrupted creation leaves no store, or a store with full checkpoint room.
  @Test func storeFinishedOnAFullDiskHasCheckpointRoom() throws {
    let begun = SimulatedWorld()
    _ = try CacheStore.open(
      at: Workload.path, options: StoreOptions(byteBudget: 1 << 20), environment: begun.environment)
    let last = try #require(begun.disk.operations.first { $0.name == "rename" }).index
    var openedCount = 0
    for moment in 1...last {
      for policy: CrashPolicy in [.everythingLost, .onlyBlocksLost] {
        let world = begun.rebooted(begun.disk.crashStates(after: moment).disk(policy))
        // For `LOCK` and `STORE`, and nothing else.
        world.disk.setCapacity(world.disk.usedByteCount + 4 * 4096)
        guard let store = try? Self.open(world) else { continue }
        openedCount += 1
        world.disk.fillUp()
        for _ in 0..<2 { try store.checkpoint() }
        try store.close()
      }
    }
    #expect(openedCount > 0)
  }

  /// Tools that copy no zeros leave files with missing blocks.
  @Test func aCopyWithHolesOpensOnAFullDisk() throws {
    let work = try Workload(options: StoreOptions(byteBudget: 8 << 20))
    for number in 0..<40 { try work.store.put([UInt8(number)], for: "k\(number)") }
    // Both roots have their content, and both have been written to the area.
    for _ in 0..<3 { try work.store.checkpoint() }
    try work.store.close()
    let world = work.world.rebooted(work.world.disk.copy())
    let folder = try world.disk.openDirectory("\(Workload.path)/checkpoints", create: false)
    for path in Self.paths {
      let bytes = try #require(world.disk.contents(path))
      #expect(world.disk.remove(path))
      let file = try folder.openFile(String(path.split(separator: "/").last!), .create)
      try file.truncate(to: bytes.count)
      for offset in stride(from: 0, to: bytes.count, by: 4096) {
        let page = Array(bytes[offset..<min(offset + 4096, bytes.count)])
        if page.contains(where: { $0 != 0 }) { try file.write(page, at: offset) }
      }
      try file.sync()
      #expect(try file.status().allocatedByteCount < bytes.count)
    }
    try folder.sync()
    world.disk.fillUp(refusingNewNames: true)
    let store = try Self.open(world)
    #expect(store.count == 40)
    #expect(try store.remove("k7", durability: .synced))
    try store.close()
    world.disk.setCapacity(.max)
    let again = try Self.open(world)
    #expect(again.count == 39 && again.bytes("k8") == [8])
    try Self.expectBlocks(again)
  }
}
