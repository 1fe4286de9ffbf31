extension CacheStore {
  /// The value of an entry, to keep beyond a closure: without a copy as long as the Blobs at hand hold no more than an
  /// eighth of the byte budget, in whole segments, and as a copy beyond that, or when it is compressed.
  ///
  /// Nil when there is nothing to give: ``lookup(_:style:source:)`` says why. Counts as use, and a `source` means the
  /// same as in ``get(_:style:source:_:)``. About a microsecond, and a copy where there is one; the first read of an
  /// entry since opening also reads it through and checks it. Thread-safe.
  public func blob(_ url: String, style: Style = .original, source: Source? = nil) -> Blob? {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reader.blob(url, style, source: source) } }
  }

  /// The same for a whole key.
  public func blob(_ key: CacheKey, source: Source? = nil) -> Blob? {
    key.url.withUnsafeBytes { url in read { $0.reader.blob(url, key.style, source: source) } }
  }

  /// The value of an entry if it can be given in this moment, as ``blob(_:source:)`` gives it: one that was checked since
  /// opening and is not compressed. Nil for all others, and where there is none; then neither use nor miss is counted. No file
  /// is read; pages that the system has given up since the check come back when they are touched. Thread-safe.
  public func blobAtHand(_ key: CacheKey) -> Blob? {
    key.url.withUnsafeBytes { url in
      read { $0.reader.isAtHand(url, key.style) == true ? $0.reader.blob(url, key.style, source: nil) : nil }
    }
  }
}

extension AsyncCacheStore {
  /// The value of an entry, to keep: ``CacheStore/blob(_:source:)``. What was checked before and is not compressed is given on
  /// the thread of the caller, since that waits for nothing and going elsewhere costs many times what the get does.
  public func blob(for key: CacheKey, source: Source? = nil) async -> Blob? {
    let isAtHand = key.url.withUnsafeBytes { url in store.read { $0.reader.isAtHand(url, key.style) } }
    if source == nil, isAtHand ?? true { return store.blob(key) }
    return await AsyncCacheStore.read { store.blob(key, source: source) }
  }
}
