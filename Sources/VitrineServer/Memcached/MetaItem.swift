import Vitrine

/// An item as `mg` returns it.
struct MetaItem {
  /// The value, if it was asked for.
  let blob: Blob?
  let byteCount: Int
  /// The properties before the request.
  let record: ItemRecord
  /// In milliseconds since 1970; nil if the item does not expire.
  fileprivate(set) var expirationMilliseconds: Int64?
  /// Seconds since the last use that the store has recorded, or since the item was stored.
  let idleSeconds: Int64
  /// Whether a client has fetched the item since it was stored.
  let wasUsed: Bool
  /// Whether the client is told to renew the item (flag `W`).
  fileprivate(set) var hasWon = false
  /// The share of memory of the value while it is sent.
  fileprivate(set) var share: MemoryShare?

  fileprivate init(_ properties: ItemProperties, blob: Blob?, wasUsed: Bool) {
    let used = max(properties.info.writtenMilliseconds, properties.info.lastUsedMilliseconds ?? 0)
    self.blob = blob
    byteCount = blob?.byteCount ?? properties.info.byteCount
    record = properties.record
    expirationMilliseconds = properties.info.expirationMilliseconds
    idleSeconds = max(0, (Time.milliseconds() - used) / 1000)
    self.wasUsed = wasUsed
  }

  fileprivate init(_ item: Item) {
    blob = item.blob
    byteCount = item.blob.byteCount
    record = item.record
    expirationMilliseconds = item.blob.expirationMilliseconds
    idleSeconds = 0
    wasUsed = false
  }

  /// Whether the client is to renew the item: it is stale or expires before `renewal`, and no other client was told to.
  fileprivate func isDue(_ renewal: Int64?) -> Bool {
    if record.isTokenSent { return false }
    if record.isStale { return true }
    guard let renewal, let expirationMilliseconds else { return false }
    return expirationMilliseconds < renewal
  }
}

extension ItemStore {
  /// Returns an item, and makes the changes that the flags request. Returns nil if there is no item.
  func get(_ flags: MetaFlags) -> MetaItem? {
    let isChange = flags.expiry != nil || flags.vivified != nil || flags.renewal != nil
    var found = isChange ? exclusively(flags.key) { change(flags) } : find(flags)
    // A get without changes takes the lock only to renew a stale item, which is rare.
    if !isChange, found?.isDue(nil) == true { found = exclusively(flags.key) { find(flags).map { renew($0, flags) } } }
    if let blob = found?.blob {
      // If the budget has no memory for the copy of a value, the get is a miss.
      guard let share = share(of: blob) else { return nil }
      found?.share = share
    }
    if found != nil, !flags.has("u") { marks.note(flags.key) }
    return found
  }

  /// Marks an item as stale. Gets still return it, and the next client that gets it is told to renew it.
  func invalidate(_ key: CacheKey, unique: UInt64?, expiry: ExpiryTime?) -> StorageOutcome {
    exclusively(key) {
      guard let present = properties(key) else { return .notFound }
      if let unique, present.record.unique != unique { return .exists }
      if expiry == .past { return outcome { () throws(StoreError) in try store.remove(key) ? .stored(0) : .notFound } }
      var record = present.record
      record.isStale = true
      record.isTokenSent = false
      record.unique = takeUnique()
      let outcome = set(record, key)
      guard let expiry, case .stored = outcome else { return outcome }
      let touched = touchWithin(key, expiry)
      return touched == .stored(0) ? outcome : touched
    }
  }

  private func find(_ flags: MetaFlags) -> MetaItem? {
    let wantsHistory = flags.has("h") || flags.has("l")
    if flags.has("h") { marks.watch() }
    guard flags.has("v") else {
      return properties(flags.key).map { MetaItem($0, blob: nil, wasUsed: marks.has(flags.key)) }
    }
    let before = wantsHistory ? properties(flags.key) : nil
    guard let item = item(flags.key) else { return nil }
    return before.map { MetaItem($0, blob: item.blob, wasUsed: marks.has(flags.key)) } ?? MetaItem(item)
  }

  private func change(_ flags: MetaFlags) -> MetaItem? {
    guard var item = find(flags) else { return vivify(flags) }
    if let expiry = flags.expiry {
      _ = touchWithin(flags.key, expiry)
      // Flags take effect in the order of the request.
      let before = item.expirationMilliseconds
      item.expirationMilliseconds = flags.asksFirst("R", before: "T") ? before : expiry.milliseconds
      item = renew(item, flags)
      item.expirationMilliseconds = flags.asksFirst("t", before: "T") ? before : expiry.milliseconds
      return item
    }
    return renew(item, flags)
  }

  /// Tells the client to renew the item if it is due.
  private func renew(_ item: MetaItem, _ flags: MetaFlags) -> MetaItem {
    guard item.isDue(flags.renewal) else { return item }
    var (item, record) = (item, item.record)
    record.isTokenSent = true
    // If the mark is not stored, other clients would also be told to renew the item.
    if case .stored = set(record, flags.key) { item.hasWon = true }
    return item
  }

  /// Creates an empty item, and tells the client to fill it.
  private func vivify(_ flags: MetaFlags) -> MetaItem? {
    guard let expiry = flags.vivified, expiry != .past else { return nil }
    var record = ItemRecord(unique: takeUnique())
    record.isTokenSent = true
    let outcome = outcome { () throws(StoreError) in
      // An item that only cannot be read now must not be replaced.
      let isStored = try store.put(
        [], for: flags.key, if: .absent,
        options: PutOptions(metadata: record.metadata, expirationMilliseconds: expiry.milliseconds))
      return isStored ? .stored(record.unique) : .notStored
    }
    guard case .stored = outcome, var item = find(flags) else { return nil }
    item.hasWon = true
    return item
  }
}
