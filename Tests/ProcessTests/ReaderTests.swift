import Foundation
import Testing
import Vitrine

/// A store that one process writes and another reads.
@Suite(.serialized) struct ReaderTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// The writer dies twice and restarts. The reader checks every byte, that no key grows older, and that batches
  /// are complete. With more keys than the budget holds, the writer evicts and compacts all the time.
  @Test(arguments: ["", " copied"], [(keys: 60, budget: 4 << 20), (keys: 900, budget: 1 << 20)])
  func aReaderFollowsAWriterThatDies(_ reads: String, _ load: (keys: Int, budget: Int)) throws {
    var writer = try StoreProcess()
    #expect(try writer.ask("open \(folder.store) budget=\(load.budget)") == "done")
    #expect(try writer.ask("put start 1") == "done")
    let reader = try StoreProcess()
    #expect(try reader.ask("open \(folder.store) readonly\(reads)") == "done")
    try reader.send("follow 4 \(load.keys) 0")
    for _ in 0..<2 {
      try writer.send("write 60 \(load.keys)")
      usleep(1_300_000)
      writer.kill()
      writer = try StoreProcess()
      #expect(try writer.ask("open \(folder.store) budget=\(load.budget) wait=10000") == "done")
    }
    var done: [Int] = []
    let evicts = load.keys > 100
    // On a busy machine a second is not enough for all of it.
    for _ in 0..<60 where done.isEmpty || done[2] == 0 || evicts && done[1] == 0 {
      let wrote = try writer.ask("write 1 \(load.keys)")
      done = wrote.split(separator: " ").compactMap { Int($0) }
      try #require(wrote.hasPrefix("wrote ") && done.count == 3, "\(wrote)")
    }
    let version = done[0]
    #expect((done[1] > 0) == evicts && done[2] > 0, "\(done)")
    let followed = reader.line().split(separator: " ").map(String.init)
    let counts = followed.compactMap(Int.init)
    try #require(followed.first == "followed" && counts.count == 3, "\(followed)")
    // The number depends on the machine: hundreds on an idle one.
    #expect(counts[0] > 0 && counts[1] > 0)
    // At the end it has the final state.
    #expect(try ["new", "same"].contains(reader.ask("refresh")))
    #expect(try reader.ask("version pair/0") == "\(version)")
    #expect(try reader.ask("verify") == "done")
    #expect(try writer.ask("verify") == "done")
    #expect(try writer.ask("close") == "done")
  }

  /// The short form of `make stress`. No time is measured.
  @Test(arguments: [
    ([], 4 << 20), (["stalled"], 16 << 20), (["styles"], 4 << 20), (["giants"], 16 << 20),
    (["sessions"], 4 << 20), (["large"], 4 << 20),
  ])
  func readersBesideEvictionAndCompactionSeePutBytes(_ loads: [String], _ budget: Int) throws {
    let (status, report) = try StoreProcess.run(["stress"] + loads + ["3", folder.path + "/stress", "\(budget)"])
    #expect(status == 0, "\(report)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/stress"))
  }

  /// A reader holds values and borrows one while the writer removes everything and reuses the space.
  @Test(arguments: [ReadMode.mapped, .copied])
  func readerKeepsItsValuesAcrossTheRemovalOfEverything(_ reads: ReadMode) throws {
    let writer = try StoreProcess()
    #expect(try writer.ask("open \(folder.store) budget=\(2 << 20)") == "done")
    #expect(try writer.ask("puts old 60 9000") == "done")
    let reader = try CacheStore.open(at: folder.store, options: StoreOptions(reads: reads, isReadOnly: true))
    let before = try (0..<60).map { try #require(reader.bytes("old/\($0)")) }
    let blobs = try (0..<20).map { try #require(reader.blob("old/\($0)")) }
    let answers: [String]? = try reader.get("old/30") { bytes in
      let answers = try [
        writer.ask("clear"), writer.ask("upkeep"), writer.ask("puts new 150 9000"), writer.ask("upkeep"),
      ]
      #expect(bytes.withUnsafeBytes { Array($0) } == before[30])
      return answers
    }
    #expect(answers == ["done", "done", "done", "done"])
    // Until it is refreshed, the reader shows its old values. Values that it cannot reach any more are misses.
    for index in 0..<60 {
      let value = reader.bytes("old/\(index)")
      #expect(value == before[index] || value == nil && reads == .copied)
    }
    #expect(try reader.refresh())
    for index in 0..<60 { #expect(reader.bytes("old/\(index)") == nil) }
    #expect(reader.bytes("new/149")?.count ?? 0 > 9000)
    for (index, blob) in blobs.enumerated() {
      #expect(blob.withBytes { $0.withUnsafeBytes { Array($0) } } == before[index] && !blob.isDamaged)
    }
    #expect(try reader.verify().isOK)
    #expect(reader.statistics().damagedCount == 0)
    try reader.close()
  }

  @Test func manyReadersOpenWhileTheLogTurns() throws {
    let writer = try StoreProcess()
    #expect(try writer.ask("open \(folder.store)") == "done")
    try writer.send("write 2 60")
    let end = Date(timeIntervalSinceNow: 1.8)
    var openings = 0
    while Date() < end {
      let store = try CacheStore.open(at: folder.store, options: StoreOptions(isReadOnly: true))
      let statistics = store.statistics()
      #expect(statistics.lastOpen.notes == [], "\(statistics.lastOpen.notes) \(statistics.lastOpen.kind)")
      #expect(statistics.lastOpen.droppedCount == 0)
      let pair = (0...1).map { store.bytes("pair/\($0)")?.split(separator: UInt8(ascii: "/"))[1] }
      #expect(pair[0] == pair[1])
      try store.close()
      openings += 1
    }
    #expect(openings > 0)
    #expect(writer.line().hasPrefix("wrote"))
  }

  /// A store left by a dead writer, in folders that the user may not write to.
  @Test func anUncleanStoreIsReadWithoutChangingAByteOrATime() throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    #expect(try writer.ask("puts key 200 900") == "done")
    #expect(try writer.ask("put big value synced") == "done")
    writer.kill()
    let nobody: UInt32 = 65534
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.store) + ["."]
    for name in names {
      let path = "\(folder.store)/\(name)"
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      if getuid() == 0 { #expect(chown(path, nobody, nobody) == 0) }
      #expect(chmod(path, isFolder.boolValue ? 0o500 : 0o400) == 0)
    }
    defer { for name in names { chmod("\(folder.store)/\(name)", 0o700) } }
    let before = try folder.everything()
    let reader = try StoreProcess()
    if getuid() == 0 { #expect(try reader.ask("user \(nobody)") == "done") }
    #expect(try reader.ask("open \(folder.store)") == "error system 13")
    #expect(try reader.ask("open \(folder.store) readonly") == "done")
    #expect(try reader.ask("has key 200 900") == "done")
    #expect(try reader.ask("get big") == "value")
    #expect(try reader.ask("refresh") == "same")
    #expect(try reader.ask("verify") == "done")
    #expect(try reader.ask("put a 1") == "error readOnly")
    #expect(try reader.ask("close") == "done")
    #expect(try folder.everything() == before)
  }
}
