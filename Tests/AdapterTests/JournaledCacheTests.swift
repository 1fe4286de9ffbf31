import Foundation
import Testing
import Vitrine
import VitrineJournaledCache

/// The behavior of Android's `DiskLruCache`.
@Suite struct JournaledCacheTests {
  private let world = World()

  private func open(
    appVersion: Int = 1, valueCount: Int = 2, maxSize: Int = 2 << 20
  ) throws -> VitrineJournaledCache {
    try VitrineJournaledCache(path: world.path, appVersion: appVersion, valueCount: valueCount, maxSize: maxSize)
  }

  /// Sets as many of the values as the entries of the cache have.
  private func set(_ cache: VitrineJournaledCache, _ key: String, _ values: String...) throws {
    let editor = try #require(try cache.edit(key))
    for (index, value) in values.prefix(cache.valueCount).enumerated() { editor.set(value, at: index) }
    try editor.commit()
  }

  private func texts(_ cache: VitrineJournaledCache, _ key: String) throws -> [String]? {
    try cache.snapshot(key).map { snapshot in (0..<cache.valueCount).map { snapshot.text($0) } }
  }

  @Test func committedValuesAreReadTogether() throws {
    let cache = try open()
    #expect(try cache.snapshot("k") == nil)
    try set(cache, "k", "A", "BC")
    let snapshot = try #require(try cache.snapshot("k"))
    #expect(snapshot.key == "k" && snapshot.text(0) == "A" && snapshot.data(1) == Data("BC".utf8))
    #expect(snapshot.byteCount(1) == 2 && snapshot.blob(0).byteCount == 1)
    #expect(cache.size == 3 && cache.maxSize == 2 << 20)
  }

  @Test func editIsSeenOnlyAfterItsCommit() throws {
    let cache = try open()
    try set(cache, "k", "A", "B")
    let editor = try #require(try cache.edit("k"))
    editor.set("C", at: 0)
    editor.set("D", at: 1)
    #expect(try texts(cache, "k") == ["A", "B"])
    #expect(editor.value(0) == Data("A".utf8))
    try editor.commit()
    #expect(try texts(cache, "k") == ["C", "D"])
  }

  @Test func editHasItsKeyAlone() throws {
    let cache = try open()
    let editor = try #require(try cache.edit("k"))
    #expect(try cache.edit("k") == nil && cache.edit("other") != nil)
    editor.abort()
    #expect(try cache.edit("k") != nil)
  }

  @Test func releasedEditorFreesItsKey() throws {
    let cache = try open()
    do { _ = try cache.edit("k") }
    #expect(try cache.edit("k") != nil)
  }

  @Test func abortedEditChangesNothing() throws {
    let cache = try open()
    let first = try #require(try cache.edit("k"))
    first.set("A", at: 0)
    first.set("B", at: 1)
    first.abort()
    #expect(try cache.snapshot("k") == nil)
    try set(cache, "k", "A", "B")
    let second = try #require(try cache.edit("k"))
    second.set("C", at: 0)
    second.abort()
    second.abort()
    #expect(try texts(cache, "k") == ["A", "B"])
  }

  @Test func endedEditCannotBeCommitted() throws {
    let cache = try open()
    let editor = try #require(try cache.edit("k"))
    editor.set("A", at: 0)
    editor.set("B", at: 1)
    try editor.commit()
    #expect(throws: JournaledCacheError.editEnded) { try editor.commit() }
    let next = try #require(try cache.edit("k"))
    editor.abort()
    #expect(try cache.edit("k") == nil, "an ended editor must not end the edit of another")
    next.abort()
  }

  @Test func newEntryNeedsAllValues() throws {
    let cache = try open()
    let editor = try #require(try cache.edit("k"))
    editor.set("A", at: 0)
    #expect(throws: JournaledCacheError.missingValue(index: 1)) { try editor.commit() }
    #expect(try cache.snapshot("k") == nil && cache.edit("k") != nil)
  }

  @Test func unsetValuesOfAnEntryStay() throws {
    let cache = try open()
    try set(cache, "k", "A", "B")
    let editor = try #require(try cache.edit("k"))
    editor.set("C", at: 1)
    try editor.commit()
    #expect(try texts(cache, "k") == ["A", "C"])
    try #require(try cache.edit("k")).commit()
    #expect(try texts(cache, "k") == ["A", "C"])
  }

  @Test func snapshotStaysReadableAfterAnEditARemovalAndClosing() throws {
    let cache = try open()
    let long = String(decoding: noise(20_000).map { $0 & 63 + 32 }, as: UTF8.self)
    try set(cache, "k", "A", long)
    let snapshot = try #require(try cache.snapshot("k"))
    try set(cache, "k", "C", "D")
    #expect(snapshot.text(0) == "A" && snapshot.text(1) == long)
    #expect(try cache.remove("k"))
    #expect(snapshot.text(0) == "A" && snapshot.text(1) == long)
    try cache.close()
    #expect(snapshot.text(0) == "A" && snapshot.text(1) == long)
  }

  @Test func snapshotIsEditedOnlyIfTheEntryIsUnchanged() throws {
    let cache = try open()
    try set(cache, "k", "A", "B")
    let first = try #require(try cache.snapshot("k"))
    let editor = try #require(try first.edit())
    #expect(try first.edit() == nil, "another edit is in progress")
    editor.set("A", at: 0)
    try editor.commit()
    // The same bytes are a change, too.
    #expect(try first.edit() == nil)
    let second = try #require(try cache.snapshot("k"))
    try cache.remove("k")
    #expect(try second.edit() == nil)
    try set(cache, "k", "A", "B")
    #expect(try second.edit() == nil)
  }

  @Test func removalNeedsAnEntryWithoutAnEdit() throws {
    let cache = try open()
    #expect(try !cache.remove("k"))
    try set(cache, "k", "A", "B")
    let editor = try #require(try cache.edit("k"))
    #expect(try !cache.remove("k") && cache.snapshot("k") != nil)
    editor.abort()
    #expect(try cache.remove("k") && cache.snapshot("k") == nil && cache.size == 0)
  }

  @Test func anEntryOfWhichAValueIsMissingIsRemovedAsNone() throws {
    let cache = try open()
    try set(cache, "k", "A", "B")
    try cache.close()
    let store = try CacheStore.open(at: world.path, options: StoreOptions(byteBudget: 2 << 20, policy: .lru))
    let style = try #require(Style("value-1"))
    #expect(try store.remove(CacheKey("k", style)))
    try store.close()
    let again = try open()
    #expect(try again.snapshot("k") == nil && !again.remove("k") && again.size == 0)
  }

  @Test(arguments: ["", "A", "a b", "a/b", "é", "a\n", String(repeating: "k", count: 121)])
  func invalidKeyIsAnError(_ key: String) throws {
    let cache = try open()
    #expect(throws: JournaledCacheError.invalidKey(key)) { try cache.snapshot(key) }
    #expect(throws: JournaledCacheError.invalidKey(key)) { try cache.edit(key) }
    #expect(throws: JournaledCacheError.invalidKey(key)) { try cache.remove(key) }
  }

  @Test(arguments: ["a", "z", "0", "9", "_", "-", "0123456789_-abc", String(repeating: "k", count: 120)])
  func validKeyHasAnEntry(_ key: String) throws {
    let cache = try open()
    try set(cache, key, "A", "B")
    #expect(try texts(cache, key) == ["A", "B"])
  }

  @Test func entriesSurviveClosing() throws {
    let first = try open()
    try set(first, "k", "A", "B")
    try first.flush()
    try first.close()
    let second = try open()
    #expect(try texts(second, "k") == ["A", "B"])
    try second.close()
  }

  @Test func otherVersionsBeginWithoutEntries() throws {
    for (appVersion, valueCount) in [(1, 2), (2, 2), (2, 1)] {
      let cache = try open(appVersion: appVersion, valueCount: valueCount)
      #expect(try cache.snapshot("k") == nil && cache.size == 0)
      try set(cache, "k", "A", "B")
      try cache.close()
    }
  }

  @Test func numberOfValuesHasLimits() throws {
    #expect(throws: StoreError.self) { try open(valueCount: 0) }
    #expect(throws: StoreError.self) { try open(valueCount: 1001) }
  }

  @Test func closedCacheRefusesCallsAndEndsEdits() throws {
    let cache = try open()
    let editor = try #require(try cache.edit("k"))
    try cache.close()
    try cache.close()
    #expect(cache.isClosed)
    #expect(throws: JournaledCacheError.editEnded) { try editor.commit() }
    #expect(throws: JournaledCacheError.closed) { try cache.snapshot("k") }
    #expect(throws: JournaledCacheError.closed) { try cache.edit("k") }
    #expect(throws: JournaledCacheError.closed) { try cache.remove("k") }
  }

  @Test func deletionRemovesTheFolder() throws {
    let cache = try open()
    try set(cache, "k", "A", "B")
    try cache.delete()
    #expect(cache.isClosed && !FileManager.default.fileExists(atPath: world.path))
  }

  @Test func sizeStaysWithinTheLimitAndEntriesAreWhole() throws {
    let cache = try open(maxSize: 1 << 20)
    for number in 0..<60 {
      let editor = try #require(try cache.edit("k\(number)"))
      editor.set(noise(20_000, seed: UInt64(number)), at: 0)
      editor.set(noise(20_000, seed: UInt64(number + 100)), at: 1)
      try editor.commit()
    }
    #expect(cache.size <= 1 << 20)
    // Upkeep may evict between two calls, so each entry is read once.
    var present: [Int] = []
    for number in 0..<60 {
      guard let snapshot = try cache.snapshot("k\(number)") else { continue }
      #expect(snapshot.data(0) == noise(20_000, seed: UInt64(number)))
      #expect(snapshot.data(1) == noise(20_000, seed: UInt64(number + 100)))
      present.append(number)
    }
    #expect(!present.isEmpty && !present.contains(0))
    try cache.setMaxSize(3 << 20)
    #expect(cache.maxSize == 3 << 20)
  }

  @Test func incompleteEntryIsAMiss() throws {
    let store = try world.open()
    try store.put([1], for: "k", style: try #require(Style("value-0")))
    try store.close()
    let cache = try open()
    #expect(try cache.snapshot("k") == nil)
    try set(cache, "k", "A", "B")
    #expect(try texts(cache, "k") == ["A", "B"])
  }

  /// Each commit sets both values to one number, so a snapshot with two numbers would be a torn one.
  @Test func concurrentSnapshotsAreNeverTorn() throws {
    let cache = try open()
    try set(cache, "k", "0", "0")
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<100 {
        if thread < 2, let editor = try? cache.edit("k") {
          editor.set("\(thread) \(round)", at: 0)
          editor.set("\(thread) \(round)", at: 1)
          do { try editor.commit() } catch { Issue.record(error) }
        } else if let snapshot = try? cache.snapshot("k") {
          #expect(snapshot.text(0) == snapshot.text(1))
        } else {
          Issue.record("there is no snapshot")
        }
      }
    }
  }
}
