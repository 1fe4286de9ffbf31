import Testing

@testable import Vitrine

/// The store after the death of its process, from a copy of the disk at that moment.
@Suite struct RecoveryTests {
  private func survivor(of disk: MemoryDisk) -> MemoryDisk { MemoryDisk(disk.image) }

  @Test(arguments: 0..<7)
  func repeatedDeathsWithoutAChangeLoseNoLaterChange(_ deaths: Int) throws {
    var disk = MemoryDisk()
    let first = try TestWorld(fileSystem: disk).open("store")
    try first.put([1], for: "before")
    try first.close()
    for death in 0..<deaths {
      let store = try TestWorld(fileSystem: disk, seed: UInt64(2 + death)).open("store")
      disk = survivor(of: disk)
      try store.close()
    }
    let writer = try TestWorld(fileSystem: disk, seed: 100).open("store")
    try writer.put([2], for: "after")
    #expect(try writer.remove("before"))
    let last = survivor(of: disk)
    try writer.close()
    let store = try TestWorld(fileSystem: last, seed: 101).open("store")
    #expect(store["after"] == [2])
    #expect(store["before"] == nil)
    #expect(store.statistics().lastOpen.notes == [])
    try store.close()
  }

  @Test func openingReportsHowTheStoreWasClosed() throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let made = try world.open("store")
    #expect(made.statistics().lastOpen.kind == .created)
    try made.put([1], for: "a")
    let dead = survivor(of: disk)
    try made.close()
    let clean = try world.open("store")
    #expect(clean.statistics().lastOpen.kind == .clean)
    try clean.close()
    let recovered = try TestWorld(fileSystem: dead, seed: 2).open("store")
    let lastOpen = recovered.statistics().lastOpen
    #expect(lastOpen.kind == .recovered && lastOpen.replayedCount > 0 && !lastOpen.mayHaveLostRemovals)
    #expect(recovered["a"] == [1])
    try recovered.close()
  }

  @Test func readingOnlyAnUncleanStoreWritesNothing() throws {
    let disk = MemoryDisk()
    let writer = try TestWorld(fileSystem: disk).open("store")
    try writer.put(text(5000), for: "a", options: PutOptions(durability: .synced))
    let dead = survivor(of: disk)
    let before = dead.image
    let reader = try TestWorld(fileSystem: dead, seed: 2).openReadOnly("store")
    #expect(reader["a"] == text(5000))
    #expect(try reader.verify().isOK)
    try reader.close()
    #expect(dead.image == before)
    try writer.close()
  }

  @Test func segmentsAloneRestoreTheEntriesExceptLoggedRemovals() throws {
    let disk = MemoryDisk()
    let writer = try TestWorld(fileSystem: disk).open("store")
    for index in 0..<20 { try writer.put(text(500, index), for: "u\(index)") }
    try writer.put(text(500, 3), for: "shared")
    try writer.close()
    var image = disk.image
    for name in image.keys where name.hasPrefix("checkpoints/") || name.hasPrefix("wal/") {
      image[name] = nil
    }
    let bare = MemoryDisk(image)
    let report = try CacheStore.repair(
      at: "store", environment: TestWorld(fileSystem: bare, seed: 2).environment)
    #expect(report.entryCount == 21 && report.damaged == [])
    let store = try TestWorld(fileSystem: bare, seed: 3).open("store")
    for index in 0..<20 { #expect(store["u\(index)"] == text(500, index)) }
    #expect(store["shared"] == text(500, 3))
    #expect(try store.verify().isOK)
    try store.put([1], for: "new")
    #expect(store["new"] == [1])
    try store.close()
  }

  /// A rebuild gives the segments new slots, by which later frames of the log name them.
  @Test func removalAfterARebuildCountsInTheNext() throws {
    func damaged(_ disk: MemoryDisk) -> MemoryDisk {
      let lost = ["checkpoints/", "segments/0000000000000001"]
      return MemoryDisk(disk.image.filter { file in !lost.contains { file.key.hasPrefix($0) } })
    }
    let disk = MemoryDisk()
    let options = StoreOptions(byteBudget: 4 << 20, segmentByteCount: 64 << 10)
    // The rebuild overwrites the first log file, so the second opening makes segments, too.
    for keys in [["a", "b"], ["c", "d"]] {
      let writer = try TestWorld(fileSystem: disk).open("store", options)
      for key in keys { try writer.put(noise(40_000, UInt64(key.utf8.first!)), for: CacheKey(key)) }
      try writer.close()
    }
    let rebuilt = damaged(disk)
    let second = try TestWorld(fileSystem: rebuilt, seed: 2).open("store")
    #expect(second.statistics().lastOpen.kind == .rebuilt && second["a"] == nil && second["d"] != nil)
    try second.remove("d")
    try second.flush()
    let again = damaged(rebuilt)
    try second.close()
    let third = try TestWorld(fileSystem: again, seed: 3).open("store")
    #expect(third.statistics().lastOpen.kind == .rebuilt)
    #expect(third["d"] == nil && third["b"] != nil && third["c"] != nil)
    try third.close()
  }

  @Test func halfMadeFolderIsCreatedAgain() throws {
    let disk = MemoryDisk()
    try TestWorld(fileSystem: disk).open("store").close()
    for missing in [["STORE"], ["STORE", "wal/3.wal"], ["STORE", "CACHEDIR.TAG", "COUNTERS"]] {
      var image = disk.image
      for name in missing { image[name] = nil }
      for name in image.keys where name.hasPrefix("checkpoints/") { image[name] = nil }
      let half = MemoryDisk(image)
      let store = try TestWorld(fileSystem: half, seed: 2).open("store")
      #expect(store.statistics().lastOpen.kind == .created)
      try store.close()
    }
  }
}
