// These calls read each record once, on a thread of the pool. On a cold disk that is one read for each record.
extension AsyncCacheStore {
  /// Calls `body` for each entry, in no order, until it returns false. `body` runs on a thread of the pool.
  public func forEachEntry(
    prefix: String = "", style: Style? = nil, _ body: @escaping @Sendable (EntryInfo) -> Bool
  ) async {
    await AsyncCacheStore.read { store.forEachEntry(prefix: prefix, style: style, body) }
  }

  /// Returns every blob with this digest. Throws `closed`.
  public func entries(digest: Digest) async throws(StoreError) -> [EntryInfo] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.entries(digest: digest) }
  }

  /// Returns all keys, sorted. Throws `closed`. O(n log n) time, and memory for all keys.
  public func keysInOrder(prefix: String = "") async throws(StoreError) -> [CacheKey] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.keysInOrder(prefix: prefix) }
  }

  /// Returns all keys, most recently used first. Throws `closed`. O(n log n) time, and memory for all keys.
  public func keysByRecency() async throws(StoreError) -> [CacheKey] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.keysByRecency() }
  }

  /// Returns the number of entries and live records of each segment. O(entries), in memory.
  public func segmentContents() async -> [String: SegmentContents] {
    await AsyncCacheStore.read { store.segmentContents() }
  }
}
