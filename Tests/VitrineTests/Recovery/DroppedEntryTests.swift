import Testing

@testable import Vitrine

/// Entries that an opening or a checkpoint drops without a frame.
@Suite struct DroppedEntryTests {
  /// Returns the disk of a process that died with two values. A loss of power has taken the head of the first record.
  private func crashImage() throws -> MemoryDisk.Image {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 8 << 20))
    for (seed, name) in ["lost", "kept"].enumerated() { try store.put(noise(3000, UInt64(seed)), for: name) }
    let lost = try #require(store.probe.location(of: store.probe.hash(of: CacheKey("lost"))))
    let name = "segments/\(SegmentHeader.fileName(store.probe.segmentNumber(inSlot: lost.slot)))"
    store.abandon()
    var image = disk.image
    image[name]?.replaceSubrange(lost.offset..<lost.offset + 64, with: [UInt8](repeating: 0, count: 64))
    return image
  }

  /// A frame behind the drop may rely on it. Without the checkpoint, a replay of that frame would meet the dropped
  /// entry.
  @Test func noFrameComesBeforeTheCheckpointThatDropsEntries() throws {
    let disk = MemoryDisk(try crashImage())
    let store = try TestWorld(fileSystem: disk, seed: 2).open("store", StoreOptions())
    let holds = Guarded<[Bool]>([])
    disk.onSync.withLock { handler in
      handler = { path in
        guard path.hasSuffix(".checkpoint") else { return }
        let isHeld = store.probe.heldLocks.commit
        holds.withLock { $0.append(isHeld) }
      }
    }
    try store.checkpoint()
    #expect(holds.withLock { $0 }.first == true && !store.contains("lost") && store.contains("kept"))
    holds.withLock { $0 = [] }
    try store.put(noise(100), for: "new")
    try store.checkpoint()
    #expect(holds.withLock { $0 } == [false])
    disk.onSync.withLock { $0 = nil }
    try store.close()
  }

  /// A frame may retire a segment whose payloads are lost, so a checkpoint without them comes first.
  @Test func anOpeningThatDropsOnlyPayloadsWritesACheckpoint() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", StoreOptions(byteBudget: 8 << 20))
    let bytes = noise(200_000)
    try store.put(bytes, for: "first")
    let segment = store.probe.segmentNumber(
      inSlot: try #require(store.probe.location(of: store.probe.hash(of: CacheKey("first")))).slot)
    // Fills the segment, so that later records lie in another one.
    for number in 0..<20 { try store.put(noise(20_000, UInt64(number)), for: "k\(number)") }
    try store.put(bytes, for: "second")
    for name in ["first"] + (0..<20).map({ "k\($0)" }) { try store.remove(name) }
    try store.checkpoint()
    store.abandon()
    var image = disk.image
    image["segments/\(SegmentHeader.fileName(segment))"] = nil
    let again = try TestWorld(fileSystem: MemoryDisk(image), seed: 2).open("store", StoreOptions())
    #expect(again.statistics().lastOpen.droppedCount == 0 && again.bytes("second") == nil)
    let checkpoints = again.probe.checkpoints
    #expect(checkpoints.current.flatMap { checkpoints.slots[$0].header?.opening } == again.probe.log.opening)
    try again.close()
  }
}
