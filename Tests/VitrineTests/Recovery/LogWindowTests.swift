import Testing

@testable import Vitrine

@Suite struct LogWindowTests {
  /// A clean opening must not make room for changes that the checkpoint has.
  @Test func whatAnEarlierUseOfTheFileLeftIsNotCounted() throws {
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
  /// Room is made for so many; nobody has checked the number.
  @Test func aFrameIsNotExpectedToHoldMoreThanItsBytesCan() throws {
    let frame = GoldenFrame.encode([.removeAll], sequence: 90, count: Int(UInt32.max))
    let disk = MemoryDisk(["wal/0.wal": frame])
    let window = LogWindow(
      try disk.openDirectory("", create: false).openFile("wal/0.wal", .readOnly), byteCount: frame.count)
    let count = window.changeCount(from: 0, sequence: 90, before: window.byteCount)
    #expect(count > 0 && count <= frame.count)
  }
}
