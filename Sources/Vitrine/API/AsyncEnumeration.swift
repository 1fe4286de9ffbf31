// Walks over all entries, on a thread of the pool: each looks once at every record, which on a cold disk is a read each.
extension AsyncCacheStore {
  /// Calls `body` for each entry, in no order, until it answers false, on a thread of the pool.
  public func forEachEntry(
    prefix: String = "", style: Style? = nil, _ body: @escaping @Sendable (EntryInfo) -> Bool
  ) async {
    await AsyncCacheStore.read { store.forEachEntry(prefix: prefix, style: style, body) }
  }

  /// Every blob that has this digest; throws `closed`.
  public func entries(digest: Digest) async throws(StoreError) -> [EntryInfo] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.entries(digest: digest) }
  }

  /// All keys in their order; throws `closed`. O(n log n), and memory for all of them.
  public func keysInOrder(prefix: String = "") async throws(StoreError) -> [CacheKey] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.keysInOrder(prefix: prefix) }
  }

  /// All keys, whoever was used last first; throws `closed`. O(n log n), and memory for all of them.
  public func keysByRecency() async throws(StoreError) -> [CacheKey] {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.keysByRecency() }
  }

  /// What lives in each segment. O(entries), in memory.
  public func segmentContents() async -> [String: SegmentContents] {
    await AsyncCacheStore.read { store.segmentContents() }
  }
}
