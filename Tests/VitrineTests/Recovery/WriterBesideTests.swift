import Foundation
import Testing

@testable import Vitrine

/// A reader that opens a store beside a writer at the worst moments.
@Suite struct WriterBesideTests {
  let folder: TemporaryFolder
  let watch = WatchedFileSystem()
  let writer: CacheStore

  init() throws {
    folder = try TemporaryFolder()
    writer = try TestWorld().open(folder.store, StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10))
    for number in 0..<200 { try writer.put(noise(3000, UInt64(number)), for: CacheKey("k\(number)")) }
    // Both files get an index with entries. That of a new store has no body, so a replaced body would not be noticed.
    for _ in 0..<2 { try writer.checkpoint() }
  }

  private func open() throws -> CacheStore {
    try TestWorld(fileSystem: watch, seed: 9).openReadOnly(folder.store)
  }

  /// Each replacement costs another read of a checkpoint, and no read of segments.
  @Test(arguments: [1, 2, 7, 30]) func replacedCheckpointsAreReadAgain(_ replacements: Int) throws {
    let left = Guarded(replacements)
    let writer = writer
    watch.beforeCall.withLock { handler in
      handler = { name, call in
        guard name.hasSuffix(".checkpoint"), case .read(let offset) = call, offset >= CheckpointHeader.byteCount,
          left.withLock({
            $0 -= 1
            return $0 >= 0
          })
        else { return }
        // One replaces the other file, the next one this.
        try? writer.checkpoint()
        try? writer.checkpoint()
      }
    }
    let reader = try open()
    #expect(reader.statistics().lastOpen.kind != .rebuilt && !reader.statistics().lastOpen.mayHaveLostRemovals)
    #expect(watch.bytesRead(".segment") == 0)
    let file = try Files.read(folder.store + "/checkpoints/0.checkpoint").count
    #expect(watch.bytesRead(".checkpoint") <= (replacements + 4) * (file + 8 * CheckpointHeader.byteCount))
    #expect(reader.count == 200)
    for number in 0..<200 { #expect(reader["k\(number)"] == noise(3000, UInt64(number))) }
    try reader.close()
  }

  /// Both checkpoints are damaged for good, and nothing changes: then the index is rebuilt from the segments.
  @Test func damagedCheckpointsAreNotReadForever() throws {
    try writer.close()
    for index in 0..<2 {
      let path = folder.store + "/checkpoints/\(index).checkpoint"
      var bytes = try Files.read(path)
      for place in CheckpointHeader.byteCount..<bytes.count { bytes[place] = 7 }
      try Files.write(bytes, to: path)
    }
    let reader = try open()
    #expect(reader.statistics().lastOpen.kind == .rebuilt && reader.count == 200)
    try reader.close()
  }

  /// If the writer retires segments while they are opened, the reader continues to the frames that moved their
  /// records, and does not load the index again.
  @Test func segmentsRetiredMeanwhileAreFollowed() throws {
    let isDone = Guarded(false)
    let writer = writer
    watch.beforeCall.withLock { handler in
      handler = { name, _ in
        guard name.hasSuffix(".segment"),
          isDone.withLock({
            let was = $0
            $0 = true
            return !was
          })
        else { return }
        for number in 0..<200 where number % 3 != 0 { _ = try? writer.remove(CacheKey("k\(number)")) }
        _ = try? writer.compact()
      }
    }
    let reader = try open()
    #expect(isDone.withLock { $0 })
    #expect(writer.statistics().compaction.recordsMoved > 0)
    #expect(reader.statistics().lastOpen.droppedCount == 0 && reader.statistics().lastOpen.kind != .rebuilt)
    for number in 0..<200 {
      let value = reader["k\(number)"]
      #expect(
        number % 3 == 0 ? value == noise(3000, UInt64(number)) : value == nil || value == noise(3000, UInt64(number)))
    }
    try reader.close()
  }

  /// The reader continues in the log from the end of its view, and reads the checkpoint once.
  @Test func segmentsRetiredMeanwhileCostNoSecondLoad() throws {
    let readBefore = Guarded<Int?>(nil)
    let writer = writer
    let watch = watch
    watch.beforeCall.withLock { handler in
      handler = { name, _ in
        guard name.hasSuffix(".segment"), readBefore.withLock({ $0 }) == nil else { return }
        readBefore.withLock { $0 = watch.bytesRead("area") }
        // The keys with three digits fill several segments.
        _ = try? writer.removeAll(prefix: "k1")
        try? writer.probe.retireDeadSegments()
      }
    }
    let segmentCount = try Files.below(folder.store + "/segments").count
    let reader = try open()
    watch.beforeCall.withLock { $0 = nil }
    #expect(try Files.below(folder.store + "/segments").count < segmentCount)
    let read = try #require(readBefore.withLock { $0 })
    #expect(read > 0 && watch.bytesRead("area") == read)
    #expect(reader.count == 89 && reader.statistics().lastOpen.droppedCount == 0)
    for number in 20..<100 { #expect(reader["k\(number)"] == noise(3000, UInt64(number))) }
    try reader.close()
  }
}
