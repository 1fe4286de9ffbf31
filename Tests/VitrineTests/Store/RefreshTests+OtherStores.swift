import Foundation
import Testing

@testable import Vitrine

/// Another store takes the place of the one that a reader follows.
extension RefreshTests {
  @Test func anotherStoreInItsPlaceIsNotFollowed() throws {
    let (writer, reader) = try open()
    try writer.put([1], for: "a")
    #expect(try reader.refresh())
    try writer.close()
    try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path + "/moved")
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    let other = try world.open(folder.store, options)
    try other.put([2], for: "a")
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    #expect(reader["a"] == [1])
    try other.close()
    // The folder is emptied and filled again.
    let follower = try world.openReadOnly(folder.store)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.store) {
      try Files.remove("\(folder.store)/\(name)")
    }
    let third = try world.open(folder.store, options)
    #expect(storeError { try follower.refresh() } != nil)
    #expect(follower["a"] == [2])
    try third.close()
  }

  /// The folders are the same, with the files of another store.
  @Test func theFilesOfAnotherStoreAreNotFollowed() throws {
    let (writer, reader) = try open()
    try writer.put([1], for: "a")
    #expect(try reader.refresh())
    try writer.close()
    let other = try world.open(folder.path + "/other", options)
    try other.put([2], for: "a")
    try other.close()
    try exchangeFiles(of: folder.store, for: folder.path + "/other")
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    #expect(reader["a"] == [1])
  }

  /// Neither store has a log by which a reader could distinguish them.
  @Test func theFilesOfAnotherStoreThatWasNeverWrittenToAreNotFollowed() throws {
    let paths = [folder.store, folder.path + "/other"]
    for path in paths {
      try world.open(path, options).abandon()
      // The state after the creation, before the first opening begins a log.
      for index in 0..<CacheFormat.walFileCount {
        let log = "\(path)/wal/\(WALFileHeader.fileName(index))"
        try Files.write([UInt8](repeating: 0, count: try Files.read(log).count), to: log)
      }
    }
    let reader = try world.openReadOnly(folder.store)
    #expect(try !reader.refresh())
    try exchangeFiles(of: paths[0], for: paths[1])
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    try reader.close()
  }

  /// An old copy of the store was put in its place.
  @Test func readerDoesNotReturnToAnOlderState() throws {
    let (writer, reader) = try open()
    try writer.put([1], for: "a")
    try writer.checkpoint()
    try Files.copyFolder(folder.store, to: folder.path + "/old")
    try writer.put([2], for: "a")
    let use = writer.probe.log.position.use
    while writer.probe.log.position.use == use { try writer.put(text(300), for: "b") }
    #expect(try reader.refresh())
    #expect(reader["a"] == [2])
    try writer.close()
    try exchangeFiles(of: folder.store, for: folder.path + "/old")
    guard case .unreadable? = storeError({ try reader.refresh() }) else {
      Issue.record("an older state was loaded")
      return
    }
    #expect(reader["a"] == [2])
  }

  /// Replaces the files of one folder by copies of another's. The folders stay.
  private func exchangeFiles(of folder: String, for other: String) throws {
    for name in try Files.below(folder) { try Files.remove("\(folder)/\(name)") }
    for name in try Files.below(other) { try Files.write(Files.read("\(other)/\(name)"), to: "\(folder)/\(name)") }
  }

  /// A forged log: a change that an opening treats as damage is not entered by a reader either.
  @Test(arguments: [false, true])
  func aSegmentThatNoWriterWouldMakeIsNotFollowed(_ isSlotTaken: Bool) throws {
    let (writer, reader) = try open()
    try writer.put([1], for: "a")
    #expect(try reader.refresh())
    let segments = writer.core.probe.segments
    let change =
      isSlotTaken
      ? Change.segmentMade(slot: try #require(segments.firstIndex { $0 != nil }), id: 1000, byteCount: 65_536)
      : .segmentMade(slot: segments.count, id: 1000, byteCount: SegmentHeader.byteCount - 1)
    let frame = ByteBuffer()
    Frame.begin(frame)
    change.encode(into: frame)
    _ = try writer.probe.append(frame, changeCount: 1)
    guard case .unreadable? = storeError({ try reader.refresh() }) else {
      Issue.record("it was entered")
      return
    }
    #expect(reader["a"] == [1])
    writer.abandon()
  }
}
