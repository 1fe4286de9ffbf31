import Foundation
import Testing

@testable import Vitrine

/// Gets of a read-only opening count as uses in the store of the writer.
@Suite struct UseHintTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func open(_ policy: EvictionPolicy = .lru, _ world: TestWorld? = nil) throws -> CacheStore {
    let store = try (world ?? self.world).open("store", StoreOptions(byteBudget: 8 << 20, policy: policy))
    (world ?? self.world).background.run()
    return store
  }

  private func openReader(notesUses: Bool = true, _ world: TestWorld? = nil) throws -> CacheStore {
    try (world ?? self.world).open("store", StoreOptions(isReadOnly: true, notesUses: notesUses))
  }

  /// Puts entries of 7,000 bytes that do not compress.
  private func put(_ store: CacheStore, _ name: String, _ numbers: Range<Int>) throws {
    for number in numbers {
      try store.put(noise(7000, UInt64(number) &+ UInt64(name.utf8.first!) << 32), for: "\(name)\(number)")
      if number % 50 == 0 { world.background.run() }
    }
  }

  private func count(_ store: CacheStore, _ name: String, _ numbers: Range<Int>) -> Int {
    numbers.count { store.contains("\(name)\($0)") }
  }

  private var uses: [UInt8] { disk.image["USES"] ?? [] }
  private var isBlank: Bool { uses.allSatisfy { $0 == 0 } }

  @Test(arguments: [EvictionPolicy.lru, .s3fifo, .sieve]) func entriesThatOnlyReadersUseStay(_ policy: EvictionPolicy)
    throws
  {
    let store = try open(policy)
    try put(store, "shown", 0..<100)
    try put(store, "other", 0..<500)
    let reader = try openReader()
    for number in 0..<100 { #expect(reader["shown\(number)"] != nil) }
    #expect(isBlank)
    try reader.close()
    #expect(!isBlank)
    world.background.run()
    #expect(isBlank && uses.count == 8 << 10)
    try put(store, "scan", 0..<(policy == .lru ? 900 : 2000))
    #expect(count(store, "shown", 0..<100) >= 90)
    #expect(count(store, "other", 0..<500) < 200)
    #expect(store.statistics().bytesOnDisk <= 8 << 20)
    try store.close()
  }

  @Test func theNextWriterCountsTheUsesOfReaders() throws {
    let store = try open()
    try put(store, "k", 0..<800)
    try store.close()
    let reader = try openReader()
    for number in 0..<100 { _ = reader["k\(number)"] }
    try reader.close()
    let again = try world.open("store", StoreOptions())
    try again.trim(toEntries: 150)
    // A few keys share a place in the file.
    #expect(count(again, "k", 0..<100) >= 85 && count(again, "k", 750..<800) == 50)
    try again.close()
  }

  /// Puts evict before the first round of upkeep.
  @Test func anOpeningCountsTheUsesOfReaders() throws {
    let store = try open()
    try put(store, "k", 0..<1000)
    try store.close()
    let oldest = (0..<1000).filter { store.contains("k\($0)") }.first ?? 0
    let reader = try openReader()
    for number in oldest..<oldest + 100 { _ = reader["k\(number)"] }
    try reader.close()
    let again = try world.open("store", StoreOptions())
    for number in 0..<400 { try again.put(noise(7000, UInt64(number)), for: "new\(number)") }
    #expect(count(again, "k", oldest..<oldest + 100) >= 85)
    #expect(count(again, "k", oldest + 100..<oldest + 300) == 0)
    try again.close()
  }

  @Test func usesOfReadersAreSavedWithinAMinute() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    try store.checkpoint()
    let reader = try openReader()
    #expect(reader["k3"] != nil)
    try reader.close()
    world.background.run()
    world.clock.advance(60_000)
    world.background.run()
    store.abandon()
    let again = try world.open("store", StoreOptions())
    try again.trim(toEntries: 1)
    #expect(again.contains("k3"))
    try again.close()
  }

  /// The writer takes in the uses at its opening, long after its last round of upkeep.
  @Test func usesOfReadersDoNotSeemOlderThanTheyAre() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    try store.close()
    world.clock.advance(3_600_000)
    let moment = world.clock.wallMilliseconds() - 1000
    let reader = try openReader()
    #expect(reader["k3"] != nil)
    try reader.close()
    let again = try world.open("store", StoreOptions())
    #expect(try again.removeUnused(since: moment) == 19)
    #expect(again.contains("k3"))
    try again.close()
  }

  /// A removal takes in the uses, long after the last round of upkeep.
  @Test func usesOfReadersAreDatedByTheCallThatTakesThemIn() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    world.background.run()
    world.clock.advance(3_600_000)
    let moment = world.clock.wallMilliseconds() - 1000
    let reader = try openReader()
    #expect(reader["k3"] != nil)
    try reader.close()
    #expect(try store.removeUnused(since: moment) == 19)
    #expect(store.contains("k3"))
    try store.close()
  }

  @Test func aReaderKeepsTheUsesOfAnotherReader() throws {
    let store = try open()
    try put(store, "k", 0..<20)
    for number in [3, 4] {
      let reader = try openReader()
      _ = reader["k\(number)"]
      try reader.close()
    }
    let stamps = (0..<20).map { store.probe.slot(of: CacheKey("k\($0)"))!.stamp }
    world.background.run()
    let after = (0..<20).map { store.probe.slot(of: CacheKey("k\($0)"))!.stamp }
    #expect((0..<20).filter { stamps[$0] != after[$0] } == [3, 4])
    try store.close()
  }

  @Test func refreshWritesUsesAtMostOnceASecond() throws {
    let store = try open()
    try put(store, "k", 0..<10)
    let reader = try openReader()
    func use(_ key: String) throws -> Bool {
      _ = reader[key]
      try reader.refresh()
      defer { world.background.run() }
      return !isBlank
    }
    world.clock.advance(1000)
    #expect(try use("k1"))
    #expect(try !use("k2"))
    world.clock.advance(1000)
    #expect(try use("k3"))
    try reader.close()
    try store.close()
  }

  @Test func lookupsAndVerifyAreNoUses() throws {
    let store = try open()
    try put(store, "k", 0..<50)
    let reader = try openReader()
    #expect(reader.contains("k1") && reader["missing"] == nil)
    _ = try reader.verify()
    reader.forEachEntry { _ in true }
    try reader.close()
    let silent = try openReader(notesUses: false)
    #expect(silent["k1"] != nil)
    try silent.close()
    #expect(isBlank)
    try store.close()
  }

  private func folder(withUsesFile bytes: [UInt8]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: folder.store + "/USES"))
    return folder
  }

  /// A round of upkeep made the file while another program was emptying the folder.
  @Test(arguments: [0, 4096, 16384]) func aFolderWithABlankUsesFileAloneIsEmpty(_ length: Int) throws {
    let folder = try folder(withUsesFile: [UInt8](repeating: 0, count: length))
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 8 << 20))
    try store.put([1], for: "u")
    #expect(store["u"] == [1] && store.statistics().bytesOnDisk <= 8 << 20)
    try store.close()
  }

  @Test(arguments: [[1], [UInt8](repeating: 0, count: 16385)]) func aForeignUsesFileIsNotTouched(_ bytes: [UInt8])
    throws
  {
    let folder = try folder(withUsesFile: bytes)
    let error = storeError { _ = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 8 << 20)) }
    #expect(error == .notAStore(path: folder.store, reason: "it holds something else"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.store) == ["USES"])
    #expect(try Data(contentsOf: URL(filePath: folder.store + "/USES")) == Data(bytes))
  }

  /// The process that had the store open for writing has died.
  @Test func aReaderWritesNothingAfterACrash() throws {
    let store = try open()
    try put(store, "k", 0..<50)
    try store.flush()
    var image = disk.image
    image["LOCK"] = LockFile.contents(isMarked: false, processID: .max)
    store.abandon()
    let left = MemoryDisk(image)
    let reader = try openReader(TestWorld(fileSystem: left))
    for number in 0..<50 { #expect(reader["k\(number)"] != nil) }
    _ = try reader.refresh()
    try reader.close()
    #expect(left.image == image)
  }

  @Test(arguments: [0, 100, 4096, 5000, 65536, 1 << 20]) func anyBytesInTheUsesFileAreHarmless(_ length: Int) throws {
    let store = try open()
    try put(store, "k", 0..<50)
    try store.close()
    var image = disk.image
    image["USES"] = noise(length)
    let world = TestWorld(fileSystem: MemoryDisk(image), seed: 2)
    let again = try open(.lru, world)
    let reader = try openReader(world)
    for number in 0..<50 {
      let value = noise(7000, UInt64(number) &+ UInt64(UInt8(ascii: "k")) << 32)
      #expect(again["k\(number)"] == value && reader["k\(number)"] == value)
    }
    try reader.close()
    world.background.run()
    #expect(try again.verify().isOK)
    #expect(again.statistics().bytesOnDisk <= 8 << 20)
    try again.close()
  }

  /// The writer counts a reader's use later, so the use must not revive an entry that has expired.
  @Test func aReaderUseKeepsTheStampOfAnEntryWithAnExpiry() throws {
    let store = try open(.s3fifo)
    let expires = world.clock.wallMilliseconds() + 10_000
    try store.put([1], for: "soon", options: PutOptions(expirationMilliseconds: expires))
    let reader = try openReader()
    #expect(reader["soon"] == [1])
    try reader.close()
    let key = CacheKey("soon")
    let before = try #require(store.probe.slot(of: key))
    world.background.run()
    let after = try #require(store.probe.slot(of: key))
    #expect(isBlank && after.stamp == before.stamp && after.uses == 1)
    try store.close()
  }
}
