import Foundation
import Testing

@testable import Vitrine

private func bytes(_ blob: Blob) -> [UInt8] { blob.withBytes { $0.withUnsafeBytes { Array($0) } } }

/// A reader that follows a writer.
@Suite struct RefreshTests {
  let folder: TemporaryFolder
  let world = TestWorld()
  /// A budget with which the log rotates after a few hundred changes.
  let options = StoreOptions(byteBudget: 1 << 20)

  init() throws { folder = try TemporaryFolder() }

  func open(reads: ReadMode = .mapped) throws -> (writer: CacheStore, reader: CacheStore) {
    let writer = try world.open(folder.store, options)
    return (writer, try world.openReadOnly(folder.store, reads: reads))
  }

  func expectSame(_ reader: CacheStore, _ writer: CacheStore) throws {
    let (mine, its) = (reader.statistics(), writer.statistics())
    #expect(mine.entryCount == its.entryCount && mine.blobCount == its.blobCount)
    #expect(mine.logicalByteCount == its.logicalByteCount && mine.liveByteCount == its.liveByteCount)
    #expect(try reader.keysInOrder() == writer.keysInOrder())
    #expect(try reader.verify().isOK)
    #expect(mine.damagedCount == 0 && mine.lostCount == 0)
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func readerSeesTheStateOfItsOpeningOrRefresh(_ reads: ReadMode) throws {
    let (writer, reader) = try open(reads: reads)
    #expect(try reader.refresh() == false)
    try writer.put([1], for: "a")
    try writer.put(text(3000), for: "b")
    #expect(reader["a"] == nil)
    #expect(try reader.refresh())
    #expect(reader["a"] == [1] && reader["b"] == text(3000))
    #expect(try reader.refresh() == false)
    try writer.put([2], for: "a")
    try writer.remove("b")
    _ = try writer.setMetadata([7], for: CacheKey("a"))
    try writer.put([2], for: "shared")
    #expect(reader["a"] == [1] && reader["b"] == text(3000))
    #expect(try reader.refresh())
    #expect(reader["a"] == [2] && reader["b"] == nil && reader["shared"] == [2])
    guard case .found(let entry) = reader.lookup("a") else {
      Issue.record("not found")
      return
    }
    #expect(entry.metadata == [7])
    try expectSame(reader, writer)
    try writer.close()
  }

  @Test func aWriterIsAlwaysUpToDateAndAClosedStoreIsNot() throws {
    let (writer, reader) = try open()
    #expect(try writer.refresh() == false)
    try reader.close()
    #expect(storeError { try reader.refresh() } == .closed)
    try writer.close()
    #expect(storeError { try writer.refresh() } == .closed)
  }

  @Test func aReaderFollowsTheLogAcrossItsFiles() throws {
    let (writer, reader) = try open()
    for round in 0..<60 {
      for key in 0..<20 { try writer.put(text(60, round * 20 + key), for: "\(key)") }
      #expect(try reader.refresh())
      for key in 0..<20 { #expect(reader["\(key)"] == text(60, round * 20 + key)) }
      world.background.run()
    }
    try expectSame(reader, writer)
    try writer.close()
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func readerThatFellBehindLoadsTheWholeStoreAgain(_ reads: ReadMode) throws {
    let (writer, reader) = try open(reads: reads)
    try writer.put(text(100), for: "first")
    #expect(try reader.refresh())
    for round in 0..<3 {
      for index in 0..<1500 { try writer.put(text(50, index % 40 + round), for: "\(index % 70)") }
      try writer.checkpoint()
      world.background.run()
    }
    try writer.remove("first")
    #expect(reader["first"] == text(100) && reader["5"] == nil)
    #expect(try reader.refresh())
    #expect(reader["first"] == nil && reader["5"] != nil)
    try expectSame(reader, writer)
    #expect(try reader.refresh() == false)
    try writer.put([1], for: "after")
    #expect(try reader.refresh())
    #expect(reader["after"] == [1])
    try expectSame(reader, writer)
    let maps = reader.core.probe.segments.contains { $0?.storage?.mapping != nil }
    #expect(maps == (reads == .mapped))
    try writer.close()
  }

  /// Between the scan of the headers and the reading of the frames.
  @Test func reusedLogFileIsNotTakenForTheEndOfTheLog() throws {
    let (writer, reader) = try open()
    try writer.put([1], for: "a")
    #expect(try reader.refresh())
    var tail = try #require(reader.probe.follower).tail
    let use = tail.end.use
    try writer.put([2], for: "a")
    let isWhole = try tail.follow(
      {
        let (wal, store) = (reader.probe.walFolder, reader.probe.identity.store)
        let scan = try WALScan.open(wal, store: store, access: .readOnly)
        while let current = scan.file(use: use),
          WALScan.header(of: current.file, store: store) == current.header
        {
          for index in 0..<500 { try writer.put([UInt8(index & 0xFF)], for: "b") }
          try writer.checkpoint()
          world.background.run()
        }
        return scan
      }, { _ in true })
    #expect(!isWhole)
    #expect(try reader.refresh())
    #expect(reader["a"] == [2])
    try expectSame(reader, writer)
    try writer.close()
  }

  @Test func readerFollowsRemovalOfEverythingAndLargeBatches() throws {
    let (writer, reader) = try open()
    for index in 0..<50 { try writer.put(text(70, index), for: "\(index)") }
    #expect(try reader.refresh())
    try writer.removeAll()
    try writer.put([9], for: "after")
    #expect(try reader.refresh())
    #expect(reader["after"] == [9] && reader.count == 1)
    var batch = WriteBatch()
    for index in 0..<2000 { batch.put([UInt8(index & 0xFF), UInt8(index >> 8)], for: CacheKey("batch/\(index)")) }
    try writer.write(batch)
    // The changes are not in the log but in a checkpoint.
    #expect(try reader.refresh())
    #expect(reader["batch/1999"] == [UInt8(1999 & 0xFF), UInt8(1999 >> 8)])
    try expectSame(reader, writer)
    try writer.close()
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func borrowedBytesStayWhileTheirSegmentIsRemovedAndItsSlotReused(_ reads: ReadMode) throws {
    let (writer, reader) = try open(reads: reads)
    try writer.put(noise(40_000, 1), for: "old")
    #expect(try reader.refresh())
    let whole: Bool? = try reader.get("old") { bytes in
      for round in 0..<12 {
        try writer.removeAll(prefix: "")
        try writer.checkpoint()
        world.background.run()
        for index in 0..<4 { try writer.put(noise(40_000, UInt64(2 + round * 4 + index)), for: "new/\(index)") }
        _ = try reader.refresh()
        // Including the value at the place that this one had for the writer.
        for index in 0..<4 where reader["new/\(index)"] != noise(40_000, UInt64(2 + round * 4 + index)) {
          Issue.record("new/\(index) of round \(round) differs from the put value")
        }
      }
      return bytes.withUnsafeBytes { Array($0) } == noise(40_000, 1)
    }
    #expect(whole == true)
    #expect(reader["old"] == nil)
    _ = try reader.refresh()
    try expectSame(reader, writer)
    #expect(reader.probe.follower?.departing == [])
    try writer.close()
  }

  /// Along the log, and by loading the whole store again.
  @Test(arguments: [false, true])
  func aBlobStaysWhileARefreshTakesItsSegment(_ fallsBehind: Bool) throws {
    let (writer, reader) = try open()
    let storage = reader.probe.storage
    try writer.put(noise(30_000, 1), for: "a")
    #expect(try reader.refresh())
    let name = try #require(writer.statistics().segments.first { $0.livePartCount > 0 }).file
    var blobs = [try #require(reader.blob("a"))]
    #expect(!blobs[0].isCopy && storage.pinnedByteCount == 65_536)
    for index in 0..<2 { try writer.put(noise(30_000, UInt64(2 + index)), for: "\(index)") }
    try writer.remove("a")
    if fallsBehind {
      for _ in 0..<3 {
        for index in 0..<1500 { try writer.put([UInt8(index & 0xFF)], for: "other") }
        try writer.checkpoint()
        world.background.run()
      }
    }
    try writer.removeAll(prefix: "")
    world.background.run()
    #expect(!FileManager.default.fileExists(atPath: "\(folder.store)/segments/\(name)"))
    #expect(try reader.refresh())
    try expectSame(reader, writer)
    #expect(reader["a"] == nil && reader.probe.follower?.departing == [])
    #expect(bytes(blobs[0]) == noise(30_000, 1) && !blobs[0].isDamaged)
    #expect(storage.pinnedByteCount == 65_536 && storage.unlinkedByteCount == 65_536)
    // Blobs of segments that a refresh has added are counted with earlier ones.
    for index in 0..<3 { try writer.put(noise(50_000, UInt64(10 + index)), for: "new/\(index)") }
    #expect(try reader.refresh())
    for index in 0..<3 { blobs.append(try #require(reader.blob("new/\(index)"))) }
    #expect(blobs.map(\.isCopy) == [false, false, true, true] && storage.pinnedByteCount == 2 * 65_536)
    try reader.close()
    #expect(blobs.allSatisfy { !$0.isDamaged } && bytes(blobs[0]) == noise(30_000, 1))
    for index in 0..<3 { #expect(bytes(blobs[1 + index]) == noise(50_000, UInt64(10 + index))) }
    blobs.removeAll()
    #expect(storage.pinnedByteCount == 0 && storage.unlinkedByteCount == 0)
    try writer.close()
  }

  /// More segments than the reader keeps files open for.
  @Test func copiedReadOfARemovedSegmentIsAMissUntilTheNextRefresh() throws {
    let writer = try world.open(folder.store, StoreOptions(byteBudget: 64 << 20, segmentByteCount: 65_536))
    let keys = 300
    for key in 0..<keys { try writer.put(noise(60_000, UInt64(key)), for: "\(key)") }
    world.background.run()
    let reader = try world.openReadOnly(folder.store, reads: .copied)
    for key in 0..<keys { try writer.put(noise(50_000, UInt64(1000 + key)), for: "\(key)") }
    world.background.run()
    var missing = 0
    for key in 0..<keys {
      let value = reader["\(key)"]
      if value == nil { missing += 1 } else { #expect(value == noise(60_000, UInt64(key))) }
    }
    // The number of open files depends on the other stores of the process.
    #expect(missing > 10 && reader.count == keys)
    #expect(try reader.refresh())
    for key in 0..<keys { #expect(reader["\(key)"] == noise(50_000, UInt64(1000 + key))) }
    try expectSame(reader, writer)
    try writer.close()
  }

  @Test func aReaderFollowsClosingDyingAndReopening() throws {
    var writer = try world.open(folder.store, options)
    let reader = try world.openReadOnly(folder.store)
    for turn in 0..<8 {
      for index in 0..<30 { try writer.put(text(80, turn * 30 + index), for: "\(index % 20)") }
      if turn % 2 == 0 { _ = try reader.refresh() }
      if turn % 3 == 0 { writer.abandon() } else { try writer.close() }
      if turn % 2 == 1 { _ = try reader.refresh() }
      writer = try world.open(folder.store, options)
      try writer.put([UInt8(turn)], for: "turn")
      #expect(try reader.refresh())
      #expect(reader["turn"] == [UInt8(turn)])
      try expectSame(reader, writer)
    }
    try writer.close()
  }

  /// Between the scan of the log's headers and the reading of its frames: the opening's view is whole all the same.
  @Test func openingDuringLogReuseMissesNoChange() throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let writer = try world.open("store", options)
    try writer.put([1], for: "a")
    let (name, use) = (try #require(writer.probe.log.active).file.name, writer.probe.log.position.use)
    @Sendable func isBegunAnew() -> Bool { !writer.probe.log.files.contains { $0.header?.use == use } }
    disk.onRead.withLock { handler in
      handler = { [disk] path, offset in
        guard path == "wal/\(name)", offset >= WALFileHeader.frameStart else { return }
        disk.onRead.withLock { $0 = nil }
        for index in 0..<5000 where !isBegunAnew() {
          try? writer.put([UInt8(index & 0xFF)], for: "b")
          if index % 400 == 399 { try? writer.checkpoint() }
        }
      }
    }
    let reader = try world.openReadOnly("store")
    #expect(isBegunAnew() && disk.onRead.withLock { $0 == nil })
    #expect(reader["a"] == [1] && reader["b"] == writer["b"])
    try writer.close()
  }

  @Test func storeOpenedDuringItsCreationIsReplacedOnceCreated() throws {
    try FileManager.default.createDirectory(atPath: folder.store + "/wal", withIntermediateDirectories: true)
    try Files.write([], to: folder.store + "/LOCK")
    let reader = try world.openReadOnly(folder.store)
    #expect(try reader.refresh() == false)
    let writer = try world.open(folder.store, options)
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    try writer.close()
  }

  @Test func segmentRemovedBeforeTheOpeningIsIgnored() throws {
    let (writer, reader) = try open()
    for round in 0..<6 {
      for index in 0..<5 { try writer.put(noise(30_000, UInt64(round * 5 + index)), for: "\(index)") }
      world.background.run()
    }
    #expect(reader["0"] == nil)
    #expect(try reader.refresh())
    for index in 0..<5 { #expect(reader["\(index)"] == noise(30_000, UInt64(25 + index))) }
    try expectSame(reader, writer)
    try writer.close()
  }

  /// Any changes, in any order, by a writer that also dies and restarts: after a refresh the reader has all of
  /// them, before it none.
  @Test(arguments: [ReadMode.mapped, .copied], 1...6)
  func readerHasExactlyTheWritersStateOfItsRefresh(_ reads: ReadMode, _ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var writer = try world.open(folder.store, options)
    let reader = try world.openReadOnly(folder.store, reads: reads)
    var model: [String: [UInt8]] = [:]
    var seen = model
    var blobs: [(blob: Blob, value: [UInt8]?)] = []
    for step in 0..<700 {
      let key = "\(random.below(50))"
      switch random.below(100) {
      case 0..<55:
        let count = random.below(10) == 0 ? 20_000 : random.below(600)
        let value = random.below(4) == 0 ? text(count, random.below(5)) : noise(count, UInt64(step))
        switch storeError({ try writer.put(value, for: key) }) {
        case nil: model[key] = value
        case .noSpace?:
          try writer.removeAll(prefix: "")
          model = [:]
        case let error?: throw error
        }
      case 55..<68:
        try writer.remove(key)
        model[key] = nil
      case 68..<72:
        try writer.removeAll(prefix: "1")
        model = model.filter { !$0.key.hasPrefix("1") }
      case 72: _ = try writer.setMetadata([1], for: CacheKey(key))
      case 73:
        try writer.removeAll()
        model = [:]
      case 74..<78: try writer.checkpoint()
      case 78..<84: world.background.run()
      case 84:
        if random.below(2) == 0 { try writer.close() } else { writer.abandon() }
        writer = try world.open(folder.store, options)
      case 85..<93:
        let isNew = try reader.refresh()
        #expect(isNew || seen == model)
        seen = model
        try expectSame(reader, writer)
        for key in 0..<50 { #expect(reader["\(key)"] == model["\(key)"], "step \(step) of seed \(seed)") }
        for (blob, value) in blobs { #expect(bytes(blob) == value && !blob.isDamaged) }
        if blobs.count > 20 { blobs.removeAll() }
      default:
        #expect(reader[key] == seen[key], "step \(step) of seed \(seed)")
        if let blob = reader.blob(key) { blobs.append((blob, seen[key])) }
      }
    }
    let storage = reader.probe.storage
    #expect((storage.pinnedByteCount > 0) == blobs.contains { !$0.blob.isCopy })
    blobs.removeAll()
    #expect(storage.pinnedByteCount == 0)
    try writer.close()
  }
}
