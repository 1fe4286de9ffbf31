import Testing

@testable import Vitrine

@Suite struct LogWindowTests {
  /// A clean opening must not reserve memory for changes that the checkpoint has.
  @Test func framesOfAnEarlierUseAreNotCounted() throws {
    func frames(_ sequences: ClosedRange<UInt64>) -> [UInt8] {
      sequences.flatMap { GoldenFrame.encode([.removeAll, .segmentRetired(slot: 7)], sequence: $0) }
    }
    let log = frames(90...92)
    let content = log + frames(13...60)
    let disk = MemoryDisk(["wal/0.wal": content])
    let window = LogWindow(
      try disk.openDirectory("", create: false).openFile("wal/0.wal", .readOnly), byteCount: content.count)
    #expect(window.changeCount(from: 0, sequence: 90, before: window.byteCount) == 6)
    #expect(window.changeCount(from: log.count / 3, sequence: 91, before: window.byteCount) == 4)
    #expect(window.changeCount(from: log.count, sequence: 93, before: window.byteCount) == 0)
    #expect(window.changeCount(from: 0, sequence: 90, before: log.count - 1) == 4)
    #expect(window.changeCount(from: 0, sequence: 90, before: 0) == 0)
  }
  /// Memory is reserved for this number, which is unchecked.
  @Test func aFrameIsNotExpectedToHoldMoreThanItsBytesCan() throws {
    let frame = GoldenFrame.encode([.removeAll], sequence: 90, count: Int(UInt32.max))
    let disk = MemoryDisk(["wal/0.wal": frame])
    let window = LogWindow(
      try disk.openDirectory("", create: false).openFile("wal/0.wal", .readOnly), byteCount: frame.count)
    let count = window.changeCount(from: 0, sequence: 90, before: window.byteCount)
    #expect(count > 0 && count <= frame.count)
  }

  /// Truncated since its length was read, or on a disk that does not deliver the rest.
  @Test func searchForFramesEndsAtAnUnreadableRange() throws {
    let content = GoldenFrame.file(GoldenFrame.encode([.removeAll]))
    let disk = MemoryDisk(["wal/0.wal": content])
    let file = try disk.openDirectory("", create: false).openFile("wal/0.wal", .readOnly)
    let (told, readCount) = (content.count + 4096, Guarded(0))
    disk.onRead.withLock { handler in
      handler = { _, _ in
        let count = readCount.withLock { count in
          count += 1
          return count
        }
        // Ends a search that would never end.
        if count == 100 { #expect(throws: Never.self) { try file.allocate(byteCount: told) } }
      }
    }
    var found: [Int] = []
    let window = LogWindow(file, byteCount: told)
    window.forEachFrame(from: 0, seed: GoldenFrame.seed) { _, _, place in found.append(place) }
    #expect(found == [GoldenFrame.offset] && readCount.withLock { $0 } < 5)
  }
}
