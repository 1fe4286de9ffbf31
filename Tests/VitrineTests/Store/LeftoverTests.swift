import Foundation
import Testing

@testable import Vitrine

/// Every reader of a record compares its checksum, its sequence number and its payload's digest: one mismatch
/// invalidates it.
@Suite struct LeftoverTests {
  /// A record at offset 128 of segment 7, and its defect.
  struct Wrong: Sendable, CustomStringConvertible {
    let description: String
    var firstSequence: UInt64 = 0
    /// The payload is intact, but of another value with the same length.
    var isOfAnotherValue = false
    var change: @Sendable (inout [UInt8]) -> Void = { _ in }
  }

  static let number: UInt64 = 3 << 36 | 5
  static let nothing = Wrong(description: "nothing")
  static let heads = [
    Wrong(description: "a number from before", firstSequence: number + 1),
    Wrong(description: "the URL") { $0[128 + 100] ^= 1 },
    Wrong(description: "the time") { $0[128 + 72] ^= 1 },
  ]
  static let payloads = [
    Wrong(description: "the payload's first byte") { $0[128 + 192] ^= 1 },
    Wrong(description: "the payload's last byte") { $0[$0.count - 1] ^= 1 },
    Wrong(description: "the whole payload", isOfAnotherValue: true),
  ]

  enum Payload: CaseIterable { case plain, zstd }

  private func content(_ payload: Payload, _ wrong: Wrong) throws -> [UInt8] {
    let value = payload == .plain ? noise(700) : text(900)
    var record = GoldenRecord.make { header in
      header.digest = value.withUnsafeBytes { Digest(of: $0) }
      header.encoding = payload == .plain ? .plain : .zstd
      header.logicalByteCount = value.count
    }
    let stored = !wrong.isOfAnotherValue ? value : payload == .plain ? noise(700, 2) : text(900, 2)
    record.payload =
      payload == .plain
      ? stored
      : try #require(stored.withUnsafeBytes { ThreadContext.current.compress($0, level: 3).map { Array($0) } })
    record.header.storedByteCount = record.payload.count
    var bytes = [UInt8](repeating: 0, count: 128) + record.bytes
    wrong.change(&bytes)
    return bytes
  }

  private func withFile(_ bytes: [UInt8], _ body: (any File, any Directory) throws -> Void) throws {
    let name = SegmentHeader.fileName(7)
    let folder = try MemoryDisk(["segments/\(name)": bytes]).openDirectory("", create: false)
      .openDirectory("segments", create: false)
    try body(try folder.openFile(name, .readOnly), folder)
  }

  private func check(_ bytes: [UInt8], _ wrong: Wrong) throws -> (whole: Bool, head: Bool) {
    var found = (whole: false, head: false)
    try withFile(bytes) { file, _ in
      let check = RecordCheck(
        file: file, seed: GoldenRecord.seed, offset: 128, available: bytes.count - 128,
        firstSequence: wrong.firstSequence, digest: nil)
      if case .intact = check.run(readsPayload: true) { found.whole = true }
      if case .intact = check.run(readsPayload: false) { found.head = true }
    }
    return found
  }

  @Test(arguments: Payload.allCases) func checkAcceptsOnlyIntactRecords(_ payload: Payload) throws {
    #expect(try check(content(payload, Self.nothing), Self.nothing) == (true, true))
    for wrong in Self.heads { #expect(try check(content(payload, wrong), wrong) == (false, false), "\(wrong)") }
    for wrong in Self.payloads { #expect(try check(content(payload, wrong), wrong) == (false, true), "\(wrong)") }
    let whole = try content(payload, Self.nothing)
    for count in [whole.count - 1, 128 + 192, 128 + 100, 128, 0] {
      #expect(try !check(Array(whole[..<count]), Self.nothing).whole, "cut to \(count)")
    }
  }

  @Test(arguments: Payload.allCases) func compactionCopiesOnlyIntactRecords(_ payload: Payload) throws {
    func isCopied(_ bytes: [UInt8], _ wrong: Wrong) throws -> Bool {
      var isRead = false
      try withFile(bytes) { file, _ in
        isRead = RecordCopier().read(
          file, offset: 128, available: bytes.count - 128, seed: GoldenRecord.seed, firstSequence: wrong.firstSequence,
          digest: nil)
      }
      return isRead
    }
    #expect(try isCopied(content(payload, Self.nothing), Self.nothing))
    for wrong in Self.heads + Self.payloads { #expect(try !isCopied(content(payload, wrong), wrong), "\(wrong)") }
    let whole = try content(payload, Self.nothing)
    #expect(try !isCopied(Array(whole.dropLast()), Self.nothing))
  }

  @Test(arguments: [true, false]) func catalogReturnsOnlyIntactRecords(_ isMapped: Bool) throws {
    func isShown(_ wrong: Wrong, checks: Bool = true) throws -> Bool {
      let index = try LoadedIndex.empty()
      let catalog = index.writer.catalog
      let bytes = try content(.plain, wrong)
      var isShown = false
      try withFile(bytes) { file, folder in
        let segment = Segment(
          id: 7, slot: 0, byteCount: bytes.count, stream: .originals, state: .sealed, tail: bytes.count)
        index.writer.segments.attach(
          segment, file: CachedFile(file, name: "x", in: folder, access: .readOnly, cache: FileCache(), isKept: false),
          mapping: isMapped ? try file.map(byteCount: bytes.count, writable: false) : nil,
          byteCount: bytes.count, allocatedByteCount: 4096, account: catalog.segments.account, access: .readOnly)
        index.writer.segments.insert(segment, vouchedUpTo: 0, firstSequence: wrong.firstSequence)
        isShown = catalog.record(at: Location(slot: 0, offset: 128), checks: checks) != nil
      }
      return isShown
    }
    #expect(try isShown(Self.nothing))
    for wrong in Self.heads { #expect(try !isShown(wrong), "\(wrong)") }
    #expect(try !isShown(Self.heads[0], checks: false), "a number is compared always")
  }

  /// A checkpoint that does not wait for the check of leftovers writes all inline records to their places.
  @Test func changedLogBytesAreNotWrittenOverARecord() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put(noise(700), for: "carried", options: PutOptions(durability: .synced))
    store.abandon()
    let found = MemoryDisk(disk.image)
    let spoiled = Guarded(0)
    found.onWrite.withLock { handler in
      handler = { path, _ in
        // Recovery has read the log by now.
        guard path == "STORE" else { return }
        found.onWrite.withLock { $0 = nil }
        for (path, bytes) in found.image where path.hasPrefix("wal/") {
          let url = Array("carried".utf8)
          guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: url) }) else { continue }
          let file = try? found.openDirectory("", create: false).openDirectory("wal", create: false)
            .openFile(String(path.dropFirst(4)), .readWrite)
          #expect(throws: Never.self) { try file?.write([0], at: place) }
          spoiled.withLock { $0 += 1 }
        }
      }
    }
    // Changed options take effect with a checkpoint.
    let again = try TestWorld(fileSystem: found, seed: 2).open("store", StoreOptions(byteBudget: 3 << 20))
    #expect(spoiled.withLock { $0 } == 1)
    #expect(again["carried"] == noise(700) && again.statistics().lostCount == 0)
    try again.close()
  }

  enum Use: CaseIterable { case get, replace, walk, checkpoint }

  /// The ledger has counted the files as they were found.
  @Test(arguments: Use.allCases) func inlineRecordDoesNotExtendAShortFile(_ use: Use) throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put(noise(700, 1), for: "whole", options: PutOptions(durability: .synced))
    try store.put(noise(3000, 2), for: "cut", options: PutOptions(durability: .synced))
    store.abandon()
    var image = disk.image
    let (path, payload) = try #require(
      image.lazy.compactMap { path, bytes in
        path.hasPrefix("segments/") ? bytes.firstRange(of: noise(3000, 2)).map { (path, $0) } : nil
      }.first)
    // In the payload, in the head, and before the record.
    for count in [payload.upperBound - 1, payload.lowerBound + 1, payload.lowerBound - 100, payload.lowerBound - 128] {
      image[path] = Array(disk.image[path]![..<count])
      let found = MemoryDisk(image)
      let again = try TestWorld(fileSystem: found, seed: 2).open("store")
      switch use {
      case .get: #expect(again["cut"] == nil)
      case .replace: try again.put(noise(500, 3), for: "cut")
      case .walk: again.forEachEntry { _ in true }
      case .checkpoint: try again.checkpoint()
      }
      #expect(found.image[path]?.count == count, "cut to \(count)")
      #expect(again["whole"] == noise(700, 1) && again["cut"] == (use == .replace ? noise(500, 3) : nil))
      try again.close()
    }
  }

  @Test func scanReturnsOnlyIntactRecords() throws {
    func scan(_ wrong: Wrong) throws -> (records: Int, damage: Int) {
      var found = (records: 0, damage: 0)
      try withFile(content(.plain, wrong)) { file, _ in
        let byteCount = try file.status().byteCount
        _ = SegmentScanner(file: file, store: goldenStore, segment: 7).records(
          byteCount: byteCount, { _ in found.records += 1 }, damage: { _, _ in found.damage += 1 })
      }
      return found
    }
    #expect(try scan(Self.nothing) == (1, 0))
    for wrong in Self.heads.dropFirst() { #expect(try scan(wrong) == (0, 1), "\(wrong)") }
  }

  @Test func compactionCopiesARecordThatTheLogRestores() throws {
    let disk = MemoryDisk()
    let options = PutOptions(durability: .synced)
    let store = try TestWorld(fileSystem: disk).open("store")
    try store.put(noise(700), for: "kept", options: options)
    try store.put(noise(700, 2), for: "removed", options: options)
    try store.remove("removed", durability: .synced)
    store.abandon()
    // The payload has not reached its segment. A frame carries it.
    let image = disk.image.reduce(into: disk.image) { image, file in
      guard file.key.hasPrefix("segments/"), let place = Data(file.value).range(of: Data(noise(700))) else { return }
      image[file.key]?.replaceSubrange(place, with: [UInt8](repeating: 0, count: place.count))
    }
    #expect(image != disk.image)
    let again = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions())
    // The first step after an opening finds the dead heads that copies take along.
    var step = try again.probe.compactOnce(leastDead: 0) { true }
    if step?.hasCorrectedAccounts == true { step = try again.probe.compactOnce(leastDead: 0) { true } }
    #expect(step?.recordCount == 1 && step?.droppedCount == 0)
    #expect(again["kept"] == noise(700))
  }
}
