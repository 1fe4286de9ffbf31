import Vitrine

/// The values that a command has stored, in the order of their puts. Names and lengths lie in two arrays, because there
/// may be many values.
struct StoredNames {
  private var bytes: [UInt8] = []
  private var entries: [(end: Int, byteCount: Int)] = []

  mutating func add(_ name: [UInt8], byteCount: Int) {
    bytes += name
    entries.append((bytes.count, byteCount))
  }

  /// Calls `body` with each value that the store has no more. Looks at every value unless the store has evicted nothing
  /// since it counted `evictedBefore` evictions.
  func forEachEvicted(
    from store: CacheStore, prefix: [UInt8], evictedBefore: Int, _ body: ([UInt8], Int) throws -> Void
  ) rethrows {
    if store.statistics().evictedCount == evictedBefore { return }
    var start = 0
    for (end, byteCount) in entries {
      let url = prefix + bytes[start..<end]
      if !store.contains(CacheKey(bytes: url)) { try body(url, byteCount) }
      start = end
    }
  }
}
