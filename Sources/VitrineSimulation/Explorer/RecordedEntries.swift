import Vitrine

// Single entries, and several at once.
extension RecordedStore {
  /// Stores an entry of the URL `name`.
  public func put(
    _ name: String, _ bytes: [UInt8], style: Style = .original, synced: Bool = false, metadata: [UInt8] = []
  ) throws {
    try put(
      CacheKey(name, style), bytes, options: PutOptions(metadata: metadata, durability: synced ? .synced : .buffered))
  }

  /// The same with any options. Which styles an original outdates is not known to the history: see
  /// ``replace(_:_:outdating:synced:)``.
  public func put(_ key: CacheKey, _ bytes: [UInt8], options: PutOptions) throws {
    try change([.put(key, Content(bytes, options))], synced: options.durability == .synced) {
      try store.put(bytes, for: key, options: options)
    }
  }

  /// Changes the metadata of an entry that is there.
  public func setMetadata(_ name: String, style: Style = .original, _ metadata: [UInt8], synced: Bool = false) throws {
    let key = CacheKey(name, style)
    guard var content = Inspection.content(store, key) else { return }
    content.metadata = metadata
    try change([.put(key, content)], synced: synced) {
      _ = try store.setMetadata(metadata, for: key, durability: synced ? .synced : .buffered)
    }
  }

  /// Lets an entry that is there expire at a moment, milliseconds since 1970, or never.
  public func setExpiration(_ name: String, _ milliseconds: Int64?, synced: Bool = false) throws {
    let key = CacheKey(name)
    guard var content = Inspection.content(store, key) else { return }
    content.expiry = milliseconds.map { .at($0) }
    try change([.put(key, content)], synced: synced) {
      _ = try store.setExpiration(milliseconds, for: key, durability: synced ? .synced : .buffered)
    }
  }

  /// Asks for an entry as it is made from `source`; one that names another goes.
  public func get(_ name: String, style: Style = .original, from source: Source) throws {
    let key = CacheKey(name, style)
    guard let content = Inspection.content(store, key) else { return }
    guard let named = content.namedSource, named != source else {
      if content.namedSource != nil, store.bytes(key, source: source) != content.bytes {
        throw Unexpected(text: "\(name) is not found under the source that it names")
      }
      return
    }
    let step = history.begin([.remove(key)], synced: false)
    let found = store.bytes(key, source: source)
    // A store that takes no more changes only misses it.
    if store.contains(key) { history.fail(step) } else { history.acknowledge(step) }
    if found != nil { throw Unexpected(text: "\(name) is found under another source") }
  }

  /// Stores an original with other bytes than before, which takes the named styles of its URL with it.
  public func replace(_ name: String, _ bytes: [UInt8], outdating styles: [Style], synced: Bool = false) throws {
    let key = CacheKey(name)
    let outdated = styles.map { History.Change.remove(CacheKey(name, $0)) }
    try change([.put(key, Content(bytes))] + outdated, synced: synced) {
      try store.put(bytes, for: key, options: PutOptions(durability: synced ? .synced : .buffered))
    }
  }

  /// Removes one entry.
  public func remove(_ name: String, style: Style = .original, synced: Bool = false) throws {
    let key = CacheKey(name, style)
    try change([.remove(key)], synced: synced) {
      try store.remove(key, durability: synced ? .synced : .buffered)
    }
  }

  /// Removes several together.
  public func removeMany(_ names: [String], synced: Bool = false) throws {
    try removeAll(
      synced, { names.contains($0.urlText) && $0.style == .original },
      { _ = try store.removeMany(names.map { CacheKey($0) }, durability: $0) })
  }

  /// Removes a name in all its styles.
  public func removeAllStyles(_ name: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText == name }, { _ = try store.removeAllStyles(name, durability: $0) })
  }

  /// Removes all entries of a style.
  public func removeAll(style: Style, synced: Bool = false) throws {
    try removeAll(synced, { $0.style == style }, { _ = try store.removeAll(style: style, durability: $0) })
  }

  /// So few as a history has go in one frame.
  private func removeAll(
    _ synced: Bool, _ isMeant: (CacheKey) -> Bool, _ body: (Durability) throws -> Void
  ) throws {
    try change(history.keys.filter(isMeant).map { .remove($0) }, synced: synced) {
      try body(synced ? .synced : .buffered)
    }
  }

  /// Removes everything.
  public func removeAll(synced: Bool = false) throws {
    try change([.removeAll], synced: synced) {
      try store.removeAll(durability: synced ? .synced : .buffered)
    }
  }

  /// Removes all entries whose URL begins with `prefix`.
  public func removeAll(prefix: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText.hasPrefix(prefix) }, { _ = try store.removeAll(prefix: prefix, durability: $0) })
  }

  /// Removes all entries that `isMeant` picks.
  public func removeAll(synced: Bool = false, where isMeant: (CacheKey) -> Bool) throws {
    try removeAll(synced, isMeant, { _ = try store.removeAll(durability: $0) { isMeant($0.key) } })
  }

  /// Removes all entries whose URL begins with `prefix` but those of these URLs.
  public func retain(only names: [String], prefix: String = "", synced: Bool = false) throws {
    try removeAll(
      synced, { $0.urlText.hasPrefix(prefix) && !names.contains($0.urlText) },
      { _ = try store.retain(only: names, prefix: prefix, durability: $0) })
  }

  // MARK: Several at once

  /// Puts under many styles of one name together.
  public func batch(_ name: String, styles: [(Style, [UInt8])], synced: Bool = false) throws {
    var batch = WriteBatch()
    for (style, bytes) in styles { batch.put(bytes, for: CacheKey(name, style)) }
    try write(batch, styles.map { .put(CacheKey(name, $0), Content($1)) }, synced: synced)
  }

  /// Puts and removals of different URLs that happen together.
  public func batch(puts: [(String, [UInt8])], removals: [String] = [], synced: Bool = false) throws {
    var batch = WriteBatch()
    var changes: [History.Change] = []
    for (name, bytes) in puts {
      batch.put(bytes, for: CacheKey(name))
      changes.append(.put(CacheKey(name), Content(bytes)))
    }
    for name in removals {
      batch.remove(CacheKey(name))
      changes.append(.remove(CacheKey(name)))
    }
    try write(batch, changes, synced: synced)
  }

  private func write(_ batch: WriteBatch, _ changes: [History.Change], synced: Bool) throws {
    try change(changes, synced: synced) { try store.write(batch, durability: synced ? .synced : .buffered) }
  }
}
