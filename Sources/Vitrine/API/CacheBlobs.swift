extension CacheStore {
  /// Returns the value of an entry, which stays valid beyond a closure.
  ///
  /// The bytes are not copied, with three exceptions: the value is compressed, the store reads by ``ReadMode/copied``,
  /// or Blobs already hold segments of an eighth of the byte budget. Returns nil on a miss;
  /// ``lookup(_:style:source:)`` says why. Counts as a use. `source` means the same as in `get(_:style:source:_:)`.
  /// Costs about a microsecond, plus a copy if one is made. The first read of an entry since opening also reads and
  /// checks the whole value. Thread-safe.
  public func blob(_ url: String, style: Style = .original, source: Source? = nil) -> Blob? {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.reads.reader.blob(url, style, source: source) } }
  }

  /// Returns the value of a key's entry, which stays valid beyond a closure.
  public func blob(_ key: CacheKey, source: Source? = nil) -> Blob? {
    key.url.withUnsafeBytes { url in read { $0.reads.reader.blob(url, key.style, source: source) } }
  }

  /// Returns the value of an entry like ``blob(_:source:)``, but only if no file must be read for it.
  ///
  /// Returns nil if there is no entry, or if the value has not been checked since opening. Also returns nil for a value
  /// that is compressed or shares the payload of another record, and for every value under ``ReadMode/copied``. With
  /// nil, neither a use nor a miss is counted. Pages that the system has evicted since the check are read again when
  /// they are touched. Thread-safe.
  public func blobAtHand(_ key: CacheKey) -> Blob? {
    key.url.withUnsafeBytes { url in
      read {
        $0.reads.reader.isAtHand(url, key.style) == true ? $0.reads.reader.blob(url, key.style, source: nil) : nil
      }
    }
  }
}

extension AsyncCacheStore {
  /// Returns the value of an entry, as ``CacheStore/blob(_:source:)`` does. Without a `source`, a miss and a value that
  /// ``CacheStore/blobAtHand(_:)`` returns need no switch of threads, which would cost many times the get itself.
  public func blob(for key: CacheKey, source: Source? = nil) async -> Blob? {
    let isAtHand = key.url.withUnsafeBytes { url in store.read { $0.reads.reader.isAtHand(url, key.style) } }
    if source == nil, isAtHand ?? true { return store.blob(key) }
    return await AsyncCacheStore.read { store.blob(key, source: source) }
  }
}
