/// The entry that a key must have for a put to take place.
public enum PutCondition: Sendable, Hashable {
  /// No entry. An expired or damaged entry counts as none.
  case absent
  /// An unexpired entry, whatever its bytes.
  case present
  /// An unexpired entry whose bytes have this digest (``EntryInfo/digest``).
  case digest(Digest)
}

extension CacheStore {
  /// Stores a value under a key if the key's entry meets a condition. Returns whether the value was stored.
  ///
  /// Of several concurrent puts that need an absent entry, one takes place. With ``PutCondition/digest(_:)``, a caller
  /// replaces exactly the bytes that it has read (compare and swap).
  ///
  /// The condition is compared and the value committed as one step, also beside puts and removals of other threads. A
  /// put that is refused changes nothing. Costs a put and a lookup; the first lookup of an entry since opening reads
  /// and checks its value. Throws the errors of ``put(_:for:style:options:)``, and `system` if the entry cannot be read
  /// now. Thread-safe.
  public func put(
    _ bytes: borrowing RawSpan, for key: CacheKey, if condition: PutCondition, options: PutOptions = PutOptions()
  ) throws(StoreError) -> Bool {
    try key.url.span.bytes.withUnsafeBytes { url throws(StoreError) in
      try bytes.withUnsafeBytes { bytes throws(StoreError) in
        try change {
          $0.writes.forgetter.forget([key], withStyles: true)
        } _: { core throws(StoreError) in
          try core.writes.putter.put(bytes, url: url, style: key.style, options: options, if: condition)
        }
      }
    }
  }

  /// Stores a value given as an array under a key if the key's entry meets a condition. Returns whether the value was
  /// stored. Throws the same errors.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, if condition: PutCondition, options: PutOptions = PutOptions()
  ) throws(StoreError) -> Bool {
    try put(bytes.span.bytes, for: key, if: condition, options: options)
  }
}

extension AsyncCacheStore {
  /// Stores a value if the key's entry meets a condition. Returns whether the value was stored. Throws the errors of
  /// ``CacheStore/put(_:for:if:options:)``.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, if condition: PutCondition, options: PutOptions = PutOptions()
  ) async throws(StoreError) -> Bool {
    try await AsyncCacheStore.change(store) { () throws(StoreError) in
      try store.put(bytes, for: key, if: condition, options: options)
    }
  }
}
