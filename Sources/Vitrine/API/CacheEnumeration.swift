// Enumerations of the entries and keys of a store.
extension CacheStore {
  /// Calls `body` for each unexpired entry, in no order, until it returns false.
  ///
  /// Reads each record once and no payload: O(entries). Other threads and `body` itself may change the store meanwhile;
  /// entries put meanwhile may be missed. Does not count as use. Thread-safe. Throws only the errors of `body`, which
  /// end the walk.
  public func forEachEntry<E: Error>(
    prefix: String = "", style: Style? = nil, _ body: (EntryInfo) throws(E) -> Bool
  ) throws(E) {
    try forEachEntry(prefix: Array(prefix.utf8), style: style, body)
  }

  /// Calls `body` for each unexpired entry whose URL begins with a prefix given in bytes. Throws only the errors of
  /// `body`.
  public func forEachEntry<E: Error>(
    prefix: [UInt8], style: Style? = nil, _ body: (EntryInfo) throws(E) -> Bool
  ) throws(E) {
    let core = core
    try core.reads.walk.forEachRecord { (view, _, slot) throws(E) in
      guard view.url.starts(with: prefix) else { return true }
      if let style, !view.style.elementsEqual(style.bytes) { return true }
      let info = core.reads.reader.info(view, slot)
      if core.context.catalog.segments.isDamaged(view.head, slot: slot.location.slot) { return true }
      return try body(info)
    }
  }

  /// Returns the keys of all unexpired entries, sorted by URL, byte by byte, then by style. O(n log n) time, and memory
  /// for all keys. Throws `closed`. Thread-safe.
  public func keysInOrder(prefix: String = "") throws(StoreError) -> [CacheKey] {
    try keysInOrder(prefix: Array(prefix.utf8))
  }

  /// Returns the sorted keys of all unexpired entries whose URL begins with a prefix given in bytes. Costs as much as
  /// the call with a prefix as text, and throws `closed` too.
  public func keysInOrder(prefix: [UInt8]) throws(StoreError) -> [CacheKey] {
    let core = core
    if core.basics.gate.isClosed { throw .closed }
    return core.reads.walk.keys { $0.url.starts(with: prefix) }.sorted()
  }

  /// Returns the keys of all unexpired entries by their last use, the most recent first; under `fifo`, by their puts.
  /// Under `lru` and `fifo`, the last key that is not pinned is evicted next. Does not count as use. O(n log n) time,
  /// and memory for all keys. Throws `closed`. Thread-safe.
  public func keysByRecency() throws(StoreError) -> [CacheKey] {
    let core = core
    if core.basics.gate.isClosed { throw .closed }
    return core.reads.walk.keysByRecency()
  }

  /// Returns every unexpired blob with this digest, as the entry of the record that carries its bytes. There is more
  /// than one only if digests collide. Costs one lookup and the read of a head for each candidate, and no payload.
  /// Thread-safe. Throws `closed`.
  public func entries(digest: Digest) throws(StoreError) -> [EntryInfo] {
    let core = core
    if core.basics.gate.isClosed { throw .closed }
    return core.reads.walk.entries(digest: digest)
  }
}
