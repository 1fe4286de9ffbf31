import Foundation
import Testing

@testable import Vitrine

/// Where bytes of removed entries are after a compaction: in no file.
@Suite struct ErasureTests {
  let disk = MemoryDisk()
  let world: TestWorld
  let store: CacheStore

  init() throws {
    world = TestWorld(fileSystem: disk)
    store = try world.open("store", StoreOptions(byteBudget: 2 << 20))
  }

  /// The files that hold the beginning of `bytes`.
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
    #expect(holders(of: value(0)).contains { $0.hasPrefix("segments/") })
    #expect(holders(of: value(0)).contains { $0.hasPrefix("wal/") })
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

  @Test func unfinishedBodyInTheSameSegmentMakesErasureSaySo() throws {
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
