import Foundation
import Testing
import VitrineSimulation

@testable import Vitrine

/// Stores of every released format are read, byte for byte, and can be changed.
@Suite struct GoldenStoreTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func thePresentFormatHasItsGoldenStores() {
    let first = GoldenStore.all.filter { $0.version == Int(CacheFormat.firstVersion) }
    #expect(first.count == GoldenStore.Kind.allCases.count)
    for golden in GoldenStore.all { #expect(golden.entries.count > 20, "\(golden)") }
  }

  @Test(arguments: GoldenStore.all, [ReadMode.mapped, .copied])
  func aReaderFindsEveryValueAndChangesNothing(_ golden: GoldenStore, _ reads: ReadMode) throws {
    try golden.unpack(into: folder.path)
    let before = try Files.state(folder.store)
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(reads: reads, isReadOnly: true))
    try golden.check(store)
    golden.checkCount(store)
    let report = try store.verify()
    #expect(report.damaged.filter { golden.kind != .rebuilt || $0.file.hasPrefix("segments/") } == [])
    try store.close()
    #expect(try Files.state(folder.store) == before)
  }

  @Test(arguments: GoldenStore.all)
  func writerFindsEveryValueAndContinues(_ golden: GoldenStore) throws {
    try golden.unpack(into: folder.path)
    let store = try CacheStore.open(at: folder.store)
    let opening = store.statistics().lastOpen
    let expected: OpeningKind =
      switch golden.kind {
      case .clean: .clean
      case .killed, .torn: .recovered
      case .rebuilt: .rebuilt
      }
    #expect(opening.kind == expected && opening.droppedCount == 0)
    #expect(opening.notes == [] || golden.kind == .rebuilt, "\(opening.notes)")
    try golden.check(store)
    golden.checkCount(store)
    let report = try store.verify()
    #expect(report.isOK && report.lost.isEmpty, "\(report)")
    let changed = try change(store)
    _ = try store.compact()
    try golden.check(store, changed: changed.keysTouched, isFresh: false)
    try changed.check(store)
    try store.close()
    let again = try CacheStore.open(at: folder.store, options: StoreOptions(waitForLockMilliseconds: 5000))
    #expect(again.statistics().lastOpen.kind == .clean)
    #expect(Accounts.check(again) == nil)
    try golden.check(again, changed: changed.keysTouched, isFresh: false)
    try changed.check(again)
    #expect(try again.verify().isOK)
    try again.close()
  }

  /// A death after the first changes of a later version.
  @Test(arguments: GoldenStore.all)
  func deathOfTheLaterWriterLosesNoEntry(_ golden: GoldenStore) throws {
    try golden.unpack(into: folder.path)
    let store = try CacheStore.open(at: folder.store)
    let changed = try change(store)
    store.abandon()
    let again = try CacheStore.open(at: folder.store, options: StoreOptions(waitForLockMilliseconds: 5000))
    try golden.check(again, changed: changed.keysTouched, isFresh: false)
    try changed.check(again)
    #expect(try again.verify().isOK)
    try again.close()
  }

  private struct Changes {
    var values: [CacheKey: [UInt8]?] = [:]
    var keysTouched: Set<CacheKey> { Set(values.keys) }

    func check(_ store: CacheStore) throws {
      for (key, value) in values { #expect(store.bytes(key) == value, "\(key.urlText)") }
    }
  }

  /// Makes changes of every kind, of existing and new entries.
  private func change(_ store: CacheStore) throws -> Changes {
    var changes = Changes()
    func put(_ key: CacheKey, _ bytes: [UInt8], synced: Bool = false) throws {
      try store.put(bytes, for: key, options: PutOptions(durability: synced ? .synced : .buffered))
      changes.values[key] = bytes
    }
    try put(CacheKey("new"), noise(5000, 70))
    try put(CacheKey("new, synced"), noise(600, 71), synced: true)
    try put(CacheKey("new, shared"), noise(700, 1))
    try put(CacheKey("text"), text(4000, 72))
    try store.remove("twin", durability: .synced)
    changes.values[CacheKey("twin")] = .some(nil)
    // The styles made from the old original are removed.
    try put(CacheKey("photo"), noise(410, 73))
    changes.values[CacheKey("photo", Style("square-60@2x")!)] = .some(nil)
    var batch = WriteBatch()
    for index in 0..<5 { batch.put(noise(300, UInt64(80 + index)), for: CacheKey("new/\(index)")) }
    batch.remove(CacheKey("batch/1/0"))
    try store.write(batch)
    for index in 0..<5 { changes.values[CacheKey("new/\(index)")] = noise(300, UInt64(80 + index)) }
    changes.values[CacheKey("batch/1/0")] = .some(nil)
    try store.flush()
    return changes
  }

  /// Run by `scripts/golden`: not a test.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["VITRINE_GOLDEN"] != nil))
  func goldenStoresAreWritten() throws {
    let path = try #require(ProcessInfo.processInfo.environment["VITRINE_GOLDEN"])
    try GoldenWriter(folder: path).run()
  }
}
