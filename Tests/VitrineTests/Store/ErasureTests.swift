import Foundation
import Testing

@testable import Vitrine

/// After a compaction no file holds bytes of removed entries.
@Suite struct ErasureTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
  }

  /// The files that hold the first bytes of `bytes`.
  private func holders(of bytes: [UInt8]) -> [String] {
    let needle = Data(bytes.prefix(24))
    return disk.image.filter { Data($0.value).range(of: needle) != nil }.keys.sorted()
  }

  private func value(_ index: Int) -> [UInt8] { noise(100 + index * 37, UInt64(index)) }

  private func expectIntact(_ store: CacheStore) throws {
    let report = try store.verify()
    #expect(report.damaged.isEmpty && report.lost.isEmpty)
  }

  private func fill() throws {
    for index in 0..<60 {
      let durability: Durability = index % 2 == 0 ? .synced : .buffered
      try store.put(value(index), for: "https://example.org/\(index)", options: PutOptions(durability: durability))
    }
  }

  @Test func compactionLeavesNoBytesOfRemovedEntries() throws {
    try fill()
    for index in 0..<60 where index % 3 == 0 { try store.remove("https://example.org/\(index)", durability: .synced) }
    try store.put(noise(5000, 900), for: "https://example.org/1")
    #expect(holders(of: value(54)).contains { $0.hasPrefix("segments/") })
    #expect(holders(of: value(54)).contains { $0.hasPrefix("wal/") })
    let report = try store.compact()
    #expect(report.isErased)
    for index in 0..<60 where index % 3 == 0 || index == 1 {
      #expect(holders(of: value(index)) == [], "\(index)")
    }
    for index in 0..<60 where index % 3 == 0 {
      #expect(holders(of: Array("https://example.org/\(index)\(Style.original.name)".utf8)) == [])
    }
    for index in 2..<60 where index % 3 != 0 { #expect(store["https://example.org/\(index)"] == value(index)) }
    try expectIntact(store)
    try store.close()
    let again = try world.open("store", StoreOptions())
    #expect(again.count == 40 && holders(of: value(0)) == [] && holders(of: value(1)) == [])
    try expectIntact(again)
  }

  @Test func erasingRemovalLeavesNoBytesOfItsEntry() throws {
    try fill()
    #expect(try store.remove("https://example.org/4", erases: true))
    #expect(holders(of: value(4)) == [])
    #expect(try store.removeAllStyles("https://example.org/5", erases: true) == 1)
    #expect(holders(of: value(5)) == [])
    #expect(try store.removeMany([CacheKey("https://example.org/6"), CacheKey("none")], erases: true) == 1)
    #expect(holders(of: value(6)) == [])
    #expect(store.count == 57)
    try expectIntact(store)
  }

  @Test func sharedBytesOutliveTheErasureOfOneKey() throws {
    let bytes = noise(3000, 7)
    try store.put(bytes, for: "a")
    try store.put(bytes, for: "b")
    #expect(try store.remove("a", erases: true))
    #expect(store["b"] == bytes && store["a"] == nil)
    #expect(try store.remove("b", erases: true))
    #expect(holders(of: bytes) == [])
  }

  /// The record of a removed key stays as long as another key needs its payload, and no longer.
  @Test(arguments: [false, true]) func removedURLStaysOnlyBesideAKeyThatSharesItsBytes(_ compacts: Bool) throws {
    let bytes = noise(3000, 7)
    let urls = ["first of two that share their bytes", "second of two that share their bytes"]
    for url in urls { try store.put(bytes, for: url) }
    for url in urls {
      #expect(try store.remove(url, erases: !compacts))
      if compacts { #expect(try store.compact().isErased) }
    }
    for url in urls { #expect(holders(of: Array(url.utf8)) == []) }
    // The last key may also get other bytes.
    for url in urls { try store.put(bytes, for: url) }
    try store.put(noise(2000, 8), for: urls[1])
    #expect(try store.remove(urls[0], erases: !compacts))
    if compacts { #expect(try store.compact().isErased) }
    #expect(holders(of: Array(urls[0].utf8)) == [] && holders(of: bytes) == [])
    #expect(store[urls[1]] == noise(2000, 8))
  }

  @Test func erasureReportsAnUnfinishedBodyInTheSameSegment() throws {
    try store.put(value(3), for: "gone")
    let writer = try store.writer(for: "slow", length: 70_000)
    try writer.write(noise(66_000, 1))
    #expect(throws: StoreError.self) { try store.remove("gone", erases: true) }
    #expect(store["gone"] == nil)
    #expect(try !store.compact().isErased)
    writer.abandon()
    #expect(try store.compact().isErased)
    #expect(holders(of: value(3)) == [])
  }

  /// They are left to the next compaction, which another thread could otherwise keep from ending.
  @Test func entriesOverwrittenDuringACompactionDoNotCount() throws {
    for removesOne in [false, true] {
      try store.put(value(3), for: "gone")
      try store.put(noise(400, 1), for: "young")
      if removesOne { try store.remove("gone") }
      var round = 1
      let report = try store.compact { _, _ in
        round += 1
        try? store.put(noise(400, UInt64(round)), for: "young")
        return true
      }
      #expect(report.isErased && round > 1)
      #expect(store["young"] == noise(400, UInt64(round)))
      if removesOne { #expect(holders(of: value(3)) == []) }
    }
    try expectIntact(store)
  }

  @Test func erasedLogTakesFramesThatSurviveTheProcess() throws {
    try fill()
    _ = try store.compact()
    for index in 100..<160 {
      try store.put(value(index), for: "late \(index)", options: PutOptions(durability: .synced))
    }
    store.abandon()
    let again = try world.open("store", StoreOptions())
    #expect(again.count == 120)
    for index in 100..<160 { #expect(again["late \(index)"] == value(index)) }
    try expectIntact(again)
  }

  /// Erasure takes a log file into use. A recovery needs another one for its own frames.
  @Test func removalDuringErasureOfAFullLogSurvivesACrashDuringRecovery() throws {
    let synced = PutOptions(durability: .synced)
    var number = 0
    while store.probe.log.freeCount > 1 {
      number += 1
      try store.put(value(number % 8), for: "k\(number % 8)", options: synced)
    }
    try store.remove("k0", durability: .synced)
    // Stored where the log goes on, before the checkpoint that covers the file before it.
    let use = store.probe.log.position.use
    let crashed = Guarded(MemoryDisk.Image())
    let (disk, store) = (disk, store)
    disk.onSync.withLock {
      $0 = { path in
        guard path.hasPrefix("wal/"), store.probe.log.position.use > use, crashed.withLock({ $0.isEmpty }) else {
          return
        }
        crashed.withLock { $0 = disk.image }
        _ = try? store.remove("k1", durability: .buffered)
        crashed.withLock { $0 = disk.image }
      }
    }
    #expect(store["k1"] != nil)
    #expect(try store.compact().isErased)
    #expect(store["k1"] == nil)
    disk.onSync.withLock { $0 = nil }

    // A recovery is cut off before each of its writes to the log and after each of its syncs.
    let cuts = Guarded<[MemoryDisk.Image]>([])
    let second = MemoryDisk(crashed.withLock { $0 })
    let cut = { @Sendable (path: String) in if path.hasPrefix("wal/") { cuts.withLock { $0.append(second.image) } } }
    second.onWrite.withLock { $0 = { path, _ in cut(path) } }
    second.onSync.withLock { $0 = { path in cut(path) } }
    #expect(try TestWorld(fileSystem: second).open("store", StoreOptions())["k1"] == nil)
    #expect(cuts.withLock { $0.count } >= 2)
    for (index, image) in cuts.withLock({ $0 }).enumerated() {
      let again = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions())
      #expect(again["k1"] == nil && again["k2"] != nil, "cut \(index)")
    }
  }

  @Test func compactionReadsLittleMoreThanItCopies() throws {
    for index in 0..<800 { try store.put(noise(1000, UInt64(index)), for: "k\(index)") }
    for index in 0..<800 where index % 4 == 0 { try store.remove("k\(index)") }
    try store.checkpoint()
    let before = disk.readByteCount.withLock { $0 }
    let report = try store.compact()
    let read = disk.readByteCount.withLock { $0 } - before
    #expect(report.recordsMoved == 600)
    #expect(read < 600 * 1200 * 3, "\(read) bytes were read")
  }
}
