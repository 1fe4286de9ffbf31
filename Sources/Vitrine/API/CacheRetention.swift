extension CacheStore {
  /// Removes every entry, of any style, whose URL begins with `prefix` and is not among `urls`. Without a prefix, that
  /// is every entry whose URL is not among `urls`. Returns the number of entries removed.
  ///
  /// Reads each entry's record once: O(entries + URLs). Takes 16 to 32 bytes of memory for each URL; the URLs are read
  /// once, one by one. Entries put meanwhile may stay or go. A frame holds at most 10,000 removals, so a crash may
  /// leave some of the removals done and others not. Throws the errors of every change (``CacheStore``).
  @discardableResult
  public func retain(
    only urls: some Swift.Sequence<String>, prefix: String = "", durability: Durability? = nil
  ) throws(StoreError) -> Int {
    try retain(Array(prefix.utf8), durability) { hasher in
      Set(urls.lazy.map { $0.utf8Span.span.bytes.withUnsafeBytes { hasher.wholeURL($0) } })
    }
  }

  /// Removes every entry whose URL begins with `prefix` and is not the URL of one of `keys`; all styles of such a URL
  /// stay. Costs as much as the call with URLs, and throws the same errors.
  @discardableResult
  public func retain(
    only keys: some Swift.Sequence<CacheKey>, prefix: String = "", durability: Durability? = nil
  ) throws(StoreError) -> Int {
    try retain(Array(prefix.utf8), durability) { hasher in
      Set(keys.lazy.map { $0.url.withUnsafeBytes { hasher.wholeURL($0) } })
    }
  }

  /// Removes all entries with the prefix but those of the hashed URLs. The sequence can be read only once, and its
  /// hashes belong to one core. If that core's folder is removed meanwhile, all its entries are gone, and the new store
  /// has none to remove.
  private func retain(
    _ prefix: [UInt8], _ durability: Durability?, _ hashes: (KeyHasher) -> Set<UInt64>
  ) throws(StoreError) -> Int {
    let core: StoreCore
    do throws(StoreError) {
      core = try coreInPlace { _ in }
    } catch {
      let core = self.core
      if core.basics.gate.isRemoved {
        core.writes.forgetter.forgetAllBut(hashes(core.context.catalog.hasher), prefix: prefix)
      }
      throw error
    }
    let hashes = hashes(core.context.catalog.hasher)
    do throws(StoreError) {
      return try core.writes.remover.retain(only: hashes, prefix: prefix, durability: durability)
    } catch {
      guard error == .storeRemoved, core.basics.gate.isRemoved else { throw error }
      core.writes.forgetter.forgetAllBut(hashes, prefix: prefix)
      _ = try successor(of: core)
      return 0
    }
  }
}

extension AsyncCacheStore {
  /// The `async` form of `CacheStore.retain(only:prefix:durability:)`. Throws the same errors.
  @discardableResult
  public func retain(
    only urls: some Swift.Sequence<String> & Sendable, prefix: String = "", durability: Durability? = nil
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.retain(only: urls, prefix: prefix, durability: durability)
    }
  }

  /// The `async` form of the call for the URLs of keys. Throws the same errors.
  @discardableResult
  public func retain(
    only keys: some Swift.Sequence<CacheKey> & Sendable, prefix: String = "", durability: Durability? = nil
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.retain(only: keys, prefix: prefix, durability: durability)
    }
  }
}
