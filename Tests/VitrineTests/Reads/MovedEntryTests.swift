import Testing

@testable import Vitrine

/// Enumerations find entries whose records are moved meanwhile.
@Suite struct MovedEntryTests {
  private static let count = 1200
  /// Two styles with one tag, so that their entries have one hash.
  private static let styles = ["square-63", "square-320"]

  /// A store of many sparse segments, in which half of the entries are left.
  private func sparseStore() throws -> CacheStore {
    let store = try TestWorld(fileSystem: MemoryDisk()).open(
      "store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10))
    let keys = (0..<Self.count / 2).flatMap { number in
      Self.styles.map { CacheKey("k\(number)", Style($0)!) }
    }
    for (number, key) in keys.enumerated() { try store.put(noise(3000, UInt64(number)), for: key) }
    for (number, key) in keys.enumerated() where number % 4 < 2 { try store.remove(key) }
    return store
  }

  @Test func entriesThatACompactionMovesAreVisitedOnce() throws {
    let store = try sparseStore()
    var visited: [CacheKey: Int] = [:]
    var moved = 0
    try store.forEachEntry { (info: EntryInfo) throws(StoreError) in
      if visited.isEmpty { moved = try store.compact().recordsMoved }
      visited[info.key, default: 0] += 1
      return true
    }
    #expect(moved > Self.count / 4 && visited.count == Self.count / 2)
    #expect(visited.values.allSatisfy { $0 == 1 })
    try store.close()
  }

  @Test func entriesThatACompactionMovesAreRemovedByAPredicate() throws {
    let store = try sparseStore()
    var moved: Int?
    let removed = try store.removeAll { _ in
      if moved == nil { moved = (try? store.compact())?.recordsMoved }
      return true
    }
    #expect(moved ?? 0 > Self.count / 4 && removed == Self.count / 2 && store.count == 0)
    try store.close()
  }
}
