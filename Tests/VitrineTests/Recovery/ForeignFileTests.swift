import Testing

@testable import Vitrine

/// Intact files of another store, or contradictory ones, are rejected.
@Suite struct ForeignFileTests {
  private func image(_ seed: UInt64, _ entries: [String: [UInt8]]) throws -> MemoryDisk.Image {
    let disk = MemoryDisk()
    for _ in 0..<3 {
      let store = try TestWorld(fileSystem: disk, seed: seed).open("store")
      for (key, value) in entries { try store.put(value, for: key) }
      try store.close()
    }
    return disk.image
  }

  @Test func foreignCheckpointsAndLogsAreIgnored() throws {
    let own = try image(1, ["a": noise(300, 1)])
    let other = try image(2, ["b": noise(300, 2)])
    for folder in ["checkpoints", "wal"] {
      var mixed = own
      for (name, bytes) in other where name.hasPrefix(folder) { mixed[name] = bytes }
      let store = try TestWorld(fileSystem: MemoryDisk(mixed), seed: 3).open("store")
      #expect(store["a"] == noise(300, 1) && store["b"] == nil && store.count == 1, "\(folder)")
      #expect(try store.verify().isOK)
      try store.close()
    }
  }

  @Test func aLogFilesHeaderCountsOnlyInItsOwnStore() throws {
    let header = WALFileHeaderFormatTests().header
    let file = try MemoryDisk(["wal/0.wal": header.encoded()]).openDirectory("", create: false)
      .openDirectory("wal", create: false).openFile("0.wal", .readOnly)
    #expect(WALScan.header(of: file, store: goldenStore) == header)
    #expect(WALScan.header(of: file, store: StoreID(low: goldenStore.low, high: 1)) == nil)
  }

  @Test func aCheckpointNamesOneStore() throws {
    var bytes = Array(try GoldenCheckpoint.make().bytes.prefix(1024))
    func sign() { GoldenCheckpoint.sign(&bytes) }
    sign()
    #expect(bytes.withUnsafeBytes { CheckpointHeader($0) } != nil)
    bytes[16] ^= 1
    sign()
    #expect(bytes.withUnsafeBytes { CheckpointHeader($0) } == nil)
  }

  @Test(arguments: [0, StoreIdentity.secondCopy]) func theNewerCopyOfTheOptionsCounts(_ newer: Int) throws {
    var own = try image(1, ["a": noise(300, 1)])
    let bytes = try #require(own["STORE"])
    guard case .valid(var identity) = bytes.withUnsafeBytes({ StoreIdentity.read($0) }) else {
      Issue.record("no identity")
      return
    }
    identity.generation += 1
    identity.byteBudget = 5 << 20
    own["STORE"]!.replaceSubrange(newer..<newer + StoreIdentity.byteCount, with: identity.encoded())
    let store = try TestWorld(fileSystem: MemoryDisk(own), seed: 3).open("store", StoreOptions())
    #expect(store.statistics().byteBudget == 5 << 20 && store["a"] == noise(300, 1))
    try store.close()
  }

  @Test func verifyNamesASegmentWithAForeignHead() throws {
    let own = try image(1, ["a": noise(300, 1)])
    let name = try #require(own.keys.first { $0.hasPrefix("segments/") })
    let head = try #require(own[name]).withUnsafeBytes { SegmentHeader($0) }
    for change in [{ $0.segment += 1 }, { $0.store = StoreID(low: 1, high: 1) }] as [(inout SegmentHeader) -> Void] {
      var changed = try #require(head)
      change(&changed)
      var image = own
      image[name]!.replaceSubrange(0..<SegmentHeader.byteCount, with: changed.encoded())
      let store = try TestWorld(fileSystem: MemoryDisk(image), seed: 3).open("store")
      let report = try store.verify()
      #expect(report.damaged.map(\.file) == [name] && report.damaged.map(\.offset) == [0])
      #expect(store["a"] == noise(300, 1))
      try store.close()
    }
  }
}
