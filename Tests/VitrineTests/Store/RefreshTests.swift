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

  private func open(reads: ReadMode = .mapped) throws -> (writer: CacheStore, reader: CacheStore) {
    let writer = try world.open(folder.store, options)
    return (writer, try world.openReadOnly(folder.store, reads: reads))
  }

  private func expectSame(_ reader: CacheStore, _ writer: CacheStore) throws {
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

  // MARK: A writer that compacts and evicts

  /// Expects that a refreshed reader equals a fresh opening.
  private func expectSameAsOpened(_ reader: CacheStore, _ comment: String = "") throws {
    let fresh = try world.openReadOnly(folder.store)
    let (mine, its) = (reader.probe.withIndex { CatalogState($0) }, fresh.probe.withIndex { CatalogState($0) })
    try #require(mine == its && mine.faults == 0, "\(mine.differences(from: its)); \(comment)")
    try fresh.close()
  }

  private func slot(_ store: CacheStore, _ url: String) -> (slot: KeySlot, segment: UInt64)? {
    store.probe.slot(of: CacheKey(url)).map { ($0, store.probe.segmentNumber(inSlot: $0.location.slot)) }
  }

  private func openSmallSegments(_ reads: ReadMode) throws -> (writer: CacheStore, reader: CacheStore) {
    let writer = try world.open(folder.store, StoreOptions(byteBudget: 16 << 20, segmentByteCount: 65_536))
    try writer.growLog()
    return (writer, try world.openReadOnly(folder.store, reads: reads))
  }

  @Test(arguments: [ReadMode.mapped, .copied])
  func movedRecordStaysCheckedAndKeepsItsLastUse(_ reads: ReadMode) throws {
    let (writer, reader) = try openSmallSegments(reads)
    for index in 0..<60 { try writer.put(noise(4000, UInt64(index)), for: "\(index)") }
    #expect(try reader.refresh())
    for index in 0..<60 { #expect(reader["\(index)"] == noise(4000, UInt64(index))) }
    let blob = try #require(reader.blob("7"))
    let before = try #require(slot(reader, "7"))
    #expect(before.slot.flags.contains(.checked))
    let hasMoved: Bool? = try reader.get("14") { bytes in
      for index in 0..<60 where index % 7 != 0 { try writer.remove("\(index)") }
      #expect(try writer.probe.steps.compact() > 0)
      world.background.run()
      #expect(try reader.refresh())
      return bytes.withUnsafeBytes { $0.elementsEqual(noise(4000, 14)) } && bytes.byteCount == 4000
    }
    #expect(hasMoved == true)
    let after = try #require(slot(reader, "7"))
    #expect(after.segment != before.segment && after.slot.flags == before.slot.flags)
    #expect(after.slot.stamp == before.slot.stamp)
    for index in 0..<60 { #expect(reader["\(index)"] == (index % 7 == 0 ? noise(4000, UInt64(index)) : nil)) }
    #expect(bytes(blob) == noise(4000, 7) && !blob.isDamaged)
    try expectSame(reader, writer)
    try expectSameAsOpened(reader)
    #expect(reader.probe.follower?.loadCount == 0)
    _ = try reader.refresh()
    #expect(reader.probe.follower?.departing == [])
    try writer.close()
  }

  /// All possible changes of a moved record, between two refreshes.
  @Test(arguments: [ReadMode.mapped, .copied])
  func laterChangesOfAMovedRecordArriveWithTheMove(_ reads: ReadMode) throws {
    let (writer, reader) = try openSmallSegments(reads)
    func fill(_ round: Int) throws {
      for index in 0..<40 { try writer.put(noise(3000, UInt64(round * 100 + index)), for: "filler/\(index)") }
    }
    func compact() throws {
      try writer.removeAll(prefix: "filler/")
      #expect(try writer.probe.steps.compact() > 0)
      world.background.run()
    }
    func value(_ name: String) -> [UInt8] { noise(2000, name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }) }
    let names = ["twice", "removed", "overwritten", "shared", "unshared", "metadata", "lonely", "kept"]
    for name in names {
      try writer.put(value(name), for: name)
      try fill(0)
    }
    for index in 0..<6 { try writer.put(value("unshared"), for: "sharer/\(index)") }
    // Their payloads are in records without a key.
    for name in ["metadata", "lonely"] { _ = try writer.setMetadata([1], for: CacheKey(name)) }
    try writer.put(value("lonely"), for: "other")
    #expect(try reader.refresh())
    let blobs = names.map { reader.blob($0) }
    try writer.put(value("new"), for: "new")
    try fill(1)
    try writer.remove("lonely")
    try compact()
    for index in 0..<5 { try writer.put(value("shared"), for: "more/\(index)") }
    try fill(2)
    for index in 0..<4 { try writer.remove("sharer/\(index)") }
    try writer.remove("removed")
    try writer.put(value("later"), for: "overwritten")
    try writer.put(value("new"), for: "new too")
    _ = try writer.setMetadata([2], for: CacheKey("twice"))
    try compact()
    try writer.remove("sharer/4")
    try fill(3)
    try writer.remove("shared")
    try compact()
    for name in names { #expect(reader[name] == value(name)) }
    #expect(try reader.refresh())
    #expect(reader.probe.follower?.loadCount == 0)
    for name in ["twice", "unshared", "metadata", "kept", "new"] { #expect(reader[name] == value(name), "\(name)") }
    #expect(reader["removed"] == nil && reader["lonely"] == nil && reader["shared"] == nil)
    #expect(reader["overwritten"] == value("later") && reader["new too"] == value("new"))
    #expect(reader["other"] == value("lonely") && reader["more/4"] == value("shared"))
    #expect(reader["sharer/5"] == value("unshared"))
    for (name, blob) in zip(names, blobs) { #expect(blob.map(bytes) == value(name)) }
    try expectSame(reader, writer)
    try expectSameAsOpened(reader)
    // Removing everything that is left works too.
    try writer.removeAll(prefix: "")
    #expect(try reader.refresh())
    #expect(reader.count == 0 && reader.statistics().blobCount == 0 && reader.statistics().liveByteCount == 0)
    try writer.close()
  }

  /// The writer makes room in every way, and the reader equals a fresh opening.
  @Test(arguments: [ReadMode.mapped, .copied], RandomRuns.seeds([1, 2, 3, 4]))
  func readerOfAFullStoreMatchesAFreshOpening(_ reads: ReadMode, _ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let options = StoreOptions(byteBudget: 4 << 20, segmentByteCount: 65_536)
    var writer = try world.open(folder.store, options)
    let reader = try world.openReadOnly(folder.store, reads: reads)
    let keys = 250
    var seen: [String: [UInt8]] = [:]
    var blobs: [(blob: Blob, value: [UInt8]?)] = []
    var refreshes = 0
    let comment = RandomRuns.repeating(seed, "RefreshTests")
    func change(_ step: Int) throws {
      let key = "\(random.below(keys))"
      switch random.below(100) {
      case 0..<72:
        let count = random.below(10) == 0 ? random.below(60_000) : random.below(12_000)
        let value = random.below(5) == 0 ? text(count % 300, random.below(6)) : noise(count, UInt64(step))
        try writer.put(value, for: key)
      case 72..<80: _ = try writer.setMetadata([UInt8(step & 0xFF)], for: CacheKey(key))
      case 80..<86: try writer.remove(key)
      case 86..<88: try writer.removeAll(prefix: "1\(random.below(10))")
      case 88..<93: _ = try writer.compact()
      case 93..<97: world.background.run()
      case 97: try writer.checkpoint()
      case 98: _ = try writer.idle()
      default:
        if random.below(3) > 0 { return }
        if random.below(2) == 0 { try writer.close() } else { writer.abandon() }
        writer = try world.open(folder.store, options)
      }
    }
    func refresh(_ step: Int) throws {
      if try reader.refresh() { refreshes += 1 }
      try expectSameAsOpened(reader, "step \(step); \(comment)")
      seen = [:]
      for key in 0..<keys { seen["\(key)"] = writer["\(key)"] }
    }
    for step in 0..<900 {
      let key = "\(random.below(keys))"
      switch random.below(20) {
      case 0:
        try refresh(step)
        for key in 0..<keys { #expect(reader["\(key)"] == seen["\(key)"], "step \(step); \(comment)") }
        for (blob, value) in blobs { #expect(bytes(blob) == value && !blob.isDamaged, "step \(step); \(comment)") }
        if blobs.count > 10 { blobs.removeAll() }
      case 1:
        let value = seen[key]
        // During a borrow.
        _ = try reader.get(key) { bytes in
          for _ in 0..<5 { try change(step) }
          try refresh(step)
          #expect(bytes.withUnsafeBytes { Array($0) } == value, "step \(step); \(comment)")
        }
      case 2: if let blob = reader.blob(key) { blobs.append((blob, seen[key])) }
      case 3:
        // A reader that keeps none of a segment's files open misses removed records until the next refresh.
        let value = reader[key]
        #expect(value == seen[key] || (reads == .copied && value == nil), "step \(step); \(comment)")
      default: try change(step)
      }
    }
    try refresh(900)
    try expectSame(reader, writer)
    let statistics = writer.statistics()
    #expect(statistics.bytesOnDisk <= 4 << 20)
    let loads = reader.probe.follower?.loadCount ?? 0
    #expect(refreshes > 30 && loads < refreshes / 2, "\(loads) of \(refreshes) refreshes loaded everything")
    let storage = reader.probe.storage
    blobs.removeAll()
    #expect(storage.pinnedByteCount == 0)
    try writer.close()
  }

  /// Gets on several threads while the reader is refreshed: every key is present all the time, and never older than
  /// before. Without mappings, a key may be missing until the next refresh. With few changes at a time, many, and more than the log holds, when the tables are exchanged; and with
  /// a writer that overwrites some of its entries, and compacts.
  @Test(arguments: [
    (2, 20, ReadMode.mapped, false), (64, 20_000, .mapped, false), (2, 100_000, .mapped, false),
    (2, 20, .copied, false), (2, 100_000, .copied, false),
    (16, 20, .mapped, true), (16, 20_000, .mapped, true), (16, 2000, .copied, true),
  ])
  func getDuringARefreshFindsTheOldOrTheNewState(
    _ budget: Int, _ pauseMicroseconds: UInt32, _ reads: ReadMode, _ compacts: Bool
  ) throws {
    let writer = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: budget << 20))
    let keys = 400
    @Sendable func value(_ key: Int, _ version: Int) -> [UInt8] {
      // Most keys share their bytes with others, so their payloads are in other records.
      let name = key & ~3
      return Array("\(name)/\(version)/".utf8) + text(50 + version % 50, version)
    }
    for key in 0..<keys { try writer.put(value(key, 0), for: "\(key)") }
    let reader = try CacheStore.open(at: folder.store, options: StoreOptions(reads: reads, isReadOnly: true))
    let wrong = Guarded<[String]>([])
    // A slow machine has more time, until a record was moved.
    let (end, limit) = (Date(timeIntervalSinceNow: 1.5), Date(timeIntervalSinceNow: 60))
    let isOver = Guarded(false)
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<2 {
      Thread.detachNewThread {
        var random = SeededRandom(seed: UInt64(thread))
        var newest = [Int](repeating: 0, count: keys)
        while !isOver.withLock({ $0 }) {
          let key = random.below(keys)
          let got = reader["\(key)"]
          // The tests of this process share few descriptors, so the file of an unlinked segment may be closed.
          if got == nil, reads == .copied { continue }
          guard let got, let version = Int(String(decoding: got.split(separator: UInt8(ascii: "/"))[1], as: UTF8.self)),
            got == value(key, version), version >= newest[key]
          else {
            wrong.withLock { $0.append("key \(key), last seen with \(newest[key])") }
            continue
          }
          newest[key] = version
        }
        done.signal()
      }
    }
    Thread.detachNewThread {
      var version = 0
      func hasMoved() -> Bool { writer.statistics().compaction.recordsMoved > 0 }
      while Date() < end || compacts && !hasMoved() && Date() < limit {
        version += 1
        do {
          for key in 0..<keys where !compacts || (key + version) % 3 == 0 {
            try writer.put(value(key, version), for: "\(key)")
          }
          if compacts { _ = try writer.compact() } else if version % 50 == 0 { try writer.checkpoint() }
        } catch {
          wrong.withLock { $0.append("\(error)") }
        }
      }
      isOver.withLock { $0 = true }
      done.signal()
    }
    var refreshes = 0
    while !isOver.withLock({ $0 }) {
      do { refreshes += try reader.refresh() ? 1 : 0 } catch { wrong.withLock { $0.append("\(error)") } }
      usleep(pauseMicroseconds)
    }
    for _ in 0..<3 { done.wait() }
    #expect(wrong.withLock { Array($0.prefix(10)) } == [])
    #expect(refreshes > 3)
    #expect(!compacts || writer.statistics().compaction.recordsMoved > 0)
    try reader.refresh()
    try expectSame(reader, writer)
    try writer.close()
  }
}
