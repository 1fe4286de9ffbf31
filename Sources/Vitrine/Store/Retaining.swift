// Keeping only what is still current: all that a list of URLs does not name goes.
extension StoreCore {
  /// Removes every entry whose URL begins with `prefix` and whose URL's hash is not among `hashes`. 64 bits of a hash
  /// under the store's secret: two URLs with one hash keep too much, and never too little.
  func retain(only hashes: Set<UInt64>, prefix: [UInt8], durability: Durability?) throws(StoreError) -> Int {
    func isWanted(_ url: UnsafeRawBufferPointer) -> Bool {
      url.starts(with: prefix) && !hashes.contains(catalog.hasher.wholeURL(url))
    }
    return try removeAll(durability: durability) { view, _ in
      isWanted(view.url)
    } orBody: { body, _ in
      body.target.key.url.withUnsafeBytes(isWanted)
    }
  }
}

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
    try retain(hashes: Set(urls.lazy.map(wholeHash)), Array(prefix.utf8), durability)
  }

  /// The same for the URLs of keys: all styles of a URL that is named stay.
  @discardableResult
  public func retain(
    only keys: some Swift.Sequence<CacheKey>, prefix: String = "", durability: Durability? = nil
  ) throws(StoreError) -> Int {
    let hashes = Set(keys.lazy.map { $0.url.withUnsafeBytes { self.core.catalog.hasher.wholeURL($0) } })
    return try retain(hashes: hashes, Array(prefix.utf8), durability)
  }

  private func wholeHash(_ url: String) -> UInt64 {
    url.utf8Span.span.bytes.withUnsafeBytes { core.catalog.hasher.wholeURL($0) }
  }

  private func retain(
    hashes: Set<UInt64>, _ prefix: [UInt8], _ durability: Durability?
  ) throws(StoreError) -> Int {
    try core.retain(only: hashes, prefix: prefix, durability: durability)
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
