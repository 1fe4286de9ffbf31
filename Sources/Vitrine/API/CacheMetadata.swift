// A change of metadata, expiry or pin writes a new key record that names the same blob, and leaves the payload alone.
extension CacheStore {
  /// Replaces an entry's metadata by writing a small record; the payload stays. Returns false if there is no entry.
  /// Waits for the disk if `synced`, or if a frame cannot carry the record. Throws `invalidArgument` above 65,536
  /// bytes, `noSpace` if there is no room for the record, and the errors of every change (``CacheStore``).
  @discardableResult
  public func setMetadata(
    _ metadata: [UInt8], for key: CacheKey, durability: Durability? = nil
  ) throws(StoreError) -> Bool {
    try change(key, .init(metadata: metadata), durability)
  }

  /// Replaces an entry's expiry by writing a small record, like ``setMetadata(_:for:durability:)``. `milliseconds`:
  /// since 1970; nil for never. Returns false if there is no entry. Throws `noSpace` if there is no room for the
  /// record, and the errors of every change (``CacheStore``).
  @discardableResult
  public func setExpiration(
    _ milliseconds: Int64?, for key: CacheKey, durability: Durability? = nil
  ) throws(StoreError) -> Bool {
    try change(key, .init(expiration: .some(milliseconds)), durability)
  }

  /// Pins an entry: eviction and trims leave it, whatever its uses. Returns false if there is no entry.
  ///
  /// The pin is kept in the store. Later puts of the key keep it, unless their options say otherwise. Removals and
  /// expiry remove pinned entries like others. A new original also removes the pinned entries made from the old one. A
  /// second pin of an entry has no effect, but a synced one makes the entry durable. Writes a small record, like
  /// ``setMetadata(_:for:durability:)``.
  ///
  /// Pinned entries may take a quarter of the entry budget and a quarter of the byte budget. Their values, URLs and
  /// metadata count, and about 150 bytes for each entry. Throws `noSpace` beyond that, and the errors of
  /// ``setMetadata(_:for:durability:)``.
  @discardableResult
  public func pin(_ key: CacheKey, durability: Durability? = nil) throws(StoreError) -> Bool {
    try change(key, .init(isPinned: true), durability)
  }

  /// Ends the pin of an entry. Returns false if there is no entry. Costs and throws as ``pin(_:durability:)``.
  @discardableResult
  public func unpin(_ key: CacheKey, durability: Durability? = nil) throws(StoreError) -> Bool {
    try change(key, .init(isPinned: false), durability)
  }

  private func change(
    _ key: CacheKey, _ head: HeadChange, _ durability: Durability?
  ) throws(StoreError) -> Bool {
    try change {
      $0.writes.forgetter.forget([key])
    } _: { core throws(StoreError) in
      try key.url.span.bytes.withUnsafeBytes { url throws(StoreError) in
        try core.writes.metadata.change(url, key.style, head, durability: durability)
      }
    }
  }
}
