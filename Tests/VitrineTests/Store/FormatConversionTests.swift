import Testing
import VitrineSimulation

@testable import Vitrine

/// A store of the first format gets the second one at its next opening.
@Suite struct FormatConversionTests {
  let disk = MemoryDisk()
  let world: TestWorld

  init() { world = TestWorld(fileSystem: disk) }

  private func firstFormat() -> StoreOptions {
    var options = StoreOptions(byteBudget: 64 << 20)
    options.keepsFirstFormat = true
    return options
  }

  private func expectValues(_ store: CacheStore, _ count: Int) throws {
    #expect(store.count == count)
    for number in 0..<count { #expect(store["u\(number)"] == noise(100 + number % 50, UInt64(number))) }
    #expect(try store.verify().isOK)
  }

  private func fill(_ store: CacheStore, _ count: Int) throws {
    for number in 0..<count { try store.put(noise(100 + number % 50, UInt64(number)), for: "u\(number)") }
  }

  @Test(arguments: [0, 10, 3000], [false, true]) func aStoreKeepsItsEntries(_ count: Int, _ isClosed: Bool) throws {
    let old = try world.open("store", firstFormat())
    try fill(old, count)
    #expect(old.statistics().formatVersion == CacheFormat.firstVersion && disk.image["checkpoints/area"] == nil)
    if isClosed { try old.close() } else { old.abandon() }
    let store = try world.open("store", StoreOptions())
    #expect(store.statistics().formatVersion == CacheFormat.version && disk.image["checkpoints/area"] != nil)
    try expectValues(store, count)
    try store.put([1], for: "new")
    store.abandon()
    // The option makes no store older.
    let again = try world.open("store", firstFormat())
    #expect(again.statistics().formatVersion == CacheFormat.version)
    try again.remove("new")
    try expectValues(again, count)
    try again.close()
  }

  @Test func aReaderReadsTheFirstFormatAndChangesNothing() throws {
    let old = try world.open("store", firstFormat())
    try fill(old, 100)
    try old.close()
    let before = disk.image
    let reader = try world.openReadOnly("store")
    #expect(reader.statistics().formatVersion == CacheFormat.firstVersion && reader["u7"] == noise(107, 7))
    try reader.close()
    #expect(disk.image == before)
  }

  @Test func anAreaOfAConversionThatWasCutOffIsRemoved() throws {
    let old = try world.open("store", firstFormat())
    try fill(old, 100)
    try old.close()
    var image = disk.image
    image["checkpoints/area"] = [UInt8](repeating: 0, count: 40_960)
    let other = MemoryDisk(image)
    let again = try TestWorld(fileSystem: other).open("store", firstFormat())
    #expect(other.image["checkpoints/area"] == nil)
    try expectValues(again, 100)
    try again.close()
    let converted = try TestWorld(fileSystem: MemoryDisk(image)).open("store", StoreOptions())
    #expect(converted.statistics().formatVersion == CacheFormat.version)
    try expectValues(converted, 100)
    try converted.close()
  }

  /// Gets are still saved, in checkpoints.
  @Test func aStoreThatKeepsTheFirstFormatSavesItsUses() throws {
    let old = try world.open("store", firstFormat())
    try fill(old, 100)
    try old.checkpoint()
    #expect(old["u7"] != nil && old["u3"] != nil)
    for _ in 0..<2 {
      world.clock.advance(60_000)
      world.background.run()
    }
    old.abandon()
    let again = try world.open("store", firstFormat())
    #expect(try again.keysByRecency().prefix(2).map(\.urlText) == ["u3", "u7"])
    try again.close()
    #expect(disk.image["checkpoints/uses"] == nil)
  }
}
