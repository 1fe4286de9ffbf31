extension CacheStore {
  /// Removes every entry, of whatever style, whose URL begins with `prefix` and is not among `urls`; answers how many
  /// there were. Without a prefix, the whole store is meant.
  ///
  /// One look at each entry's record: O(entries + URLs). Takes 16 to 32 bytes of memory for each URL, which are read
  /// once, one by one. Entries that are put meanwhile may stay or go. Frames of at most 10,000 removals: after a crash,
  /// some of them may have happened.
  @discardableResult
  public func retain(
    only urls: some Swift.Sequence<String>, prefix: String = "", durability: Durability? = nil
  ) throws(StoreError) -> Int {
    try retain(Array(prefix.utf8), durability) { hasher in
      Set(urls.lazy.map { $0.utf8Span.span.bytes.withUnsafeBytes { hasher.wholeURL($0) } })
    }
  }

  /// The same for the URLs of keys: all styles of a URL that is named stay.
  @discardableResult
  public func retain(
    only keys: some Swift.Sequence<CacheKey>, prefix: String = "", durability: Durability? = nil
  ) throws(StoreError) -> Int {
    try retain(Array(prefix.utf8), durability) { hasher in
      Set(keys.lazy.map { $0.url.withUnsafeBytes { hasher.wholeURL($0) } })
    }
  }

  /// The sequence is read once, and hashes are of one core. Where that core's folder goes meanwhile, all of its entries
  /// have gone, and the store made in its place has none to remove.
  private func retain(
    _ prefix: [UInt8], _ durability: Durability?, _ hashes: (KeyHasher) -> Set<UInt64>
  ) throws(StoreError) -> Int {
    let core: StoreCore
    do throws(StoreError) {
      core = try coreInPlace { _ in }
    } catch {
      let core = self.core
      if core.gate.isRemoved { core.forgetter.forgetAllBut(hashes(core.context.catalog.hasher), prefix: prefix) }
      throw error
    }
    let hashes = hashes(core.context.catalog.hasher)
    do throws(StoreError) {
      return try core.remover.retain(only: hashes, prefix: prefix, durability: durability)
    } catch {
      guard error == .storeRemoved, core.gate.isRemoved else { throw error }
      core.forgetter.forgetAllBut(hashes, prefix: prefix)
      _ = try successor(of: core)
      return 0
    }
  }
}

extension AsyncCacheStore {
  /// As ``CacheStore/retain(only:prefix:durability:)``.
  @discardableResult
  public func retain(
    only urls: some Swift.Sequence<String> & Sendable, prefix: String = "", durability: Durability? = nil
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.retain(only: urls, prefix: prefix, durability: durability)
    }
  }

  /// The same for the URLs of keys.
  @discardableResult
  public func retain(
    only keys: some Swift.Sequence<CacheKey> & Sendable, prefix: String = "", durability: Durability? = nil
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.retain(only: keys, prefix: prefix, durability: durability)
    }
  }
}
