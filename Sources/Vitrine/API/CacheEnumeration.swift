// Walks over the entries and the keys of a store.
extension CacheStore {
  /// Calls `body` for each entry that has not expired, in no order, until it answers false. One look at each record, none
  /// at payloads: O(entries). Changes may go on meanwhile, also in `body`; entries that are put then may be missed. Does not
  /// count as use. Thread-safe.
  public func forEachEntry<E: Error>(
    prefix: String = "", style: Style? = nil, _ body: (EntryInfo) throws(E) -> Bool
  ) throws(E) {
    try forEachEntry(prefix: Array(prefix.utf8), style: style, body)
  }

  /// The same for a prefix in bytes.
  public func forEachEntry<E: Error>(
    prefix: [UInt8], style: Style? = nil, _ body: (EntryInfo) throws(E) -> Bool
  ) throws(E) {
    let core = core
    try core.walk.forEachRecord { (view, _, slot) throws(E) in
      guard view.url.starts(with: prefix) else { return true }
      if let style, !view.style.elementsEqual(style.bytes) { return true }
      let info = core.reader.info(view, slot)
      if core.context.catalog.segments.isDamaged(view.head, slot: slot.location.slot) { return true }
      return try body(info)
    }
  }

  /// All keys whose entries have not expired, in their order: by URL, byte for byte, then by style. Collects and sorts them:
  /// O(n log n), and memory for all of them. Throws `closed`. Thread-safe.
  public func keysInOrder(prefix: String = "") throws(StoreError) -> [CacheKey] {
    try keysInOrder(prefix: Array(prefix.utf8))
  }

  /// The same for a prefix in bytes.
  public func keysInOrder(prefix: [UInt8]) throws(StoreError) -> [CacheKey] {
    let core = core
    if core.gate.isClosed { throw .closed }
    return core.walk.keys { $0.url.starts(with: prefix) }.sorted()
  }

  /// All keys whose entries have not expired, the last used first: the next to be evicted comes last. Does not count as use.
  /// O(n log n), and memory for all of them. The order is that of the policy: under `fifo`, of the puts.
  public func keysByRecency() throws(StoreError) -> [CacheKey] {
    let core = core
    if core.gate.isClosed { throw .closed }
    return core.walk.keysByRecency()
  }
}
