import Foundation
import Testing

@testable import Vitrine

/// A file that was lengthened from outside, with a hole behind its bytes, costs no more than its format allows.
@Suite struct GiantFileTests {
  static let names =
    ["STORE", "LOCK", "COUNTERS", "USES", "CACHEDIR.TAG", "segments/0000000000000001.segment"]
    + (0..<4).map { "wal/\($0).wal" } + (0..<2).map { "checkpoints/\($0).checkpoint" }

  private let folder: TemporaryFolder
  private let entries = (0..<40).map { (key: "k\($0)", bytes: noise(3000, UInt64($0))) }

  init() throws { folder = try TemporaryFolder() }

  private func prepare() throws {
    let world = TestWorld()
    let store = try world.open(folder.store)
    for entry in entries { try store.put(entry.bytes, for: CacheKey(entry.key)) }
    world.background.run()
    try store.close()
  }

  private func makeGiant(_ name: String) {
    #expect(truncate("\(folder.store)/\(name)", 1 << 40) == 0, "\(name)")
  }

  private func expectAll(_ store: CacheStore) throws {
    for entry in entries { #expect(store[entry.key] == entry.bytes) }
    #expect(try store.verify().isOK)
  }

  @Test(arguments: names) func giantFileIsReadAsFarAsItsFormatGoes(_ name: String) throws {
    try prepare()
    let budget = 4 << 20
    func check(_ body: (TestWorld) throws -> Void) throws {
      let watch = WatchedFileSystem()
      try body(TestWorld(fileSystem: watch, seed: 7))
      // A rebuild reads a log file up to the length of the longest one.
      let most = 3 * budget + (name.hasSuffix(".wal") ? CacheFormat.largestWALFile : 0)
      #expect(watch.bytesRead() < most, "\(watch.bytesRead()) bytes were read")
    }
    makeGiant(name)
    try check { world in
      let reader = try world.openReadOnly(folder.store)
      try expectAll(reader)
      try reader.close()
    }
    try check { world in
      let store = try world.open(folder.store, StoreOptions())
      try expectAll(store)
      #expect(store.statistics().bytesOnDisk < budget && store.statistics().evictedCount == 0)
      for number in 0..<400 { try store.put(noise(3000, UInt64(100 + number)), for: "more\(number % 40)") }
      try store.checkpoint()
      try expectAll(store)
      try store.close()
    }
    makeGiant(name)
    try check { world in
      let report = try CacheStore.repair(at: folder.store, environment: world.environment)
      #expect(report.entryCount == 80 && report.damaged.isEmpty)
    }
    try check { world in
      makeGiant(name)
      try? CacheStore.dump(file: "\(folder.store)/\(name)", environment: world.environment) { _ in }
    }
  }

  /// Its length is unknown without its head: then the longest possible segment counts.
  @Test func giantSegmentWithoutItsHeadIsBounded() throws {
    try prepare()
    let name = "segments/0000000000000001.segment"
    let file = try FileHandle(forUpdating: URL(filePath: "\(folder.store)/\(name)"))
    try file.write(contentsOf: Data(repeating: 7, count: 128))
    try file.close()
    makeGiant(name)
    let watch = WatchedFileSystem()
    let world = TestWorld(fileSystem: watch, seed: 7)
    let report = try CacheStore.repair(at: folder.store, environment: world.environment)
    #expect(report.entryCount == 40)
    #expect(watch.bytesRead() < SegmentHeader.largestFileByteCount + 8 << 20)
  }

  /// The first record is missing, and the others follow after zeros.
  @Test func recordsBehindAHoleAreFound() throws {
    try prepare()
    let file = try FileHandle(forUpdating: URL(filePath: "\(folder.store)/segments/0000000000000001.segment"))
    try file.seek(toOffset: 128)
    try file.write(contentsOf: Data(repeating: 0, count: 3000))
    try file.close()
    #expect(try CacheStore.repair(at: folder.store, environment: TestWorld().environment).entryCount == 39)
  }

  /// The head is that of another, shorter segment: it bounds nothing.
  @Test func headOfAnotherSegmentIsNoBound() throws {
    try prepare()
    let path = "\(folder.store)/segments/0000000000000001.segment"
    var bytes = try Files.read(path)
    var head = try #require(bytes.withUnsafeBytes { SegmentHeader($0) })
    head.segment += 1
    head.fileByteCount = 4096
    bytes.replaceSubrange(0..<SegmentHeader.byteCount, with: head.encoded())
    try Files.write(bytes, to: path)
    #expect(try CacheStore.repair(at: folder.store, environment: TestWorld().environment).entryCount == 40)
  }
}
