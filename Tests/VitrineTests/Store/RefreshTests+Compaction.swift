import Foundation
import Testing

@testable import Vitrine

private func bytes(_ blob: Blob) -> [UInt8] { blob.withBytes { $0.withUnsafeBytes { Array($0) } } }

/// The writer compacts and evicts while a reader follows it.
extension RefreshTests {
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
  /// before. Without mappings, a key may be missing until the next refresh. With few changes at a time, many, and more
  /// than the log holds, when the tables are exchanged; and with a writer that overwrites some of its entries, and
  /// compacts.
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
