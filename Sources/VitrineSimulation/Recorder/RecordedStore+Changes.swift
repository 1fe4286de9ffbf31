import Vitrine

// Changes of entries: single ones, several at once, and values that arrive in pieces.
extension RecordedStore {
  /// Stores an entry of the URL `name`. Throws the store's errors.
  public func put(
    _ name: String, _ bytes: [UInt8], style: Style = .original, synced: Bool = false, metadata: [UInt8] = []
  ) throws {
    try put(
      CacheKey(name, style), bytes, options: PutOptions(metadata: metadata, durability: synced ? .synced : .buffered))
  }

  /// Stores an entry with any options. The history does not know which styles an original outdates: see
  /// ``replace(_:_:outdating:synced:)``. Throws the store's errors.
  public func put(_ key: CacheKey, _ bytes: [UInt8], options: PutOptions) throws {
    let isSynced = (options.durability ?? self.options.durability) == .synced
    try change([.put(key, Content(bytes, options))], synced: isSynced) { store in
      try store.put(bytes, for: key, options: options)
    }
  }

  /// Changes the metadata of an existing entry. Does nothing if there is none. Throws the store's errors.
  public func setMetadata(_ name: String, style: Style = .original, _ metadata: [UInt8], synced: Bool = false) throws {
    let key = CacheKey(name, style)
    try change(
      key, synced: synced, { $0.metadata = metadata },
      { try $0.setMetadata(metadata, for: key, durability: synced ? .synced : .buffered) })
  }

  /// Pins an existing entry, or ends its pin. Does nothing if there is none. Throws the store's errors.
  public func pin(_ name: String, style: Style = .original, isOn: Bool = true, synced: Bool = false) throws {
    let key = CacheKey(name, style)
    let durability = synced ? Durability.synced : .buffered
    try change(
      key, synced: synced, { $0.isPinned = isOn },
      { try isOn ? $0.pin(key, durability: durability) : $0.unpin(key, durability: durability) })
  }

  /// Lets an existing entry expire at a moment, milliseconds since 1970, or never. Does nothing if there is none.
  /// Throws the store's errors.
  public func setExpiration(_ name: String, _ milliseconds: Int64?, synced: Bool = false) throws {
    let key = CacheKey(name)
    try change(
      key, synced: synced, { $0.expiry = milliseconds.map { .at($0) } },
      { try $0.setExpiration(milliseconds, for: key, durability: synced ? .synced : .buffered) })
  }

  /// Changes an existing entry; a repetition changes the entry that exists then.
  private func change(
    _ key: CacheKey, synced: Bool, _ change: @escaping (inout Content) -> Void,
    _ body: @escaping (CacheStore) throws -> Bool
  ) throws {
    func changed(_ store: CacheStore) -> [History.Change] {
      guard var content = Inspection.content(store, key) else { return [] }
      change(&content)
      return [.put(key, content)]
    }
    func again(_ store: CacheStore) throws -> [History.Change] {
      let changes = changed(store)
      guard try body(store) != changes.isEmpty else {
        throw Unexpected(text: "a change of \(key.urlText) repeated returns the opposite of the store's state")
      }
      return changes
    }
    let changes = changed(store)
    if changes.isEmpty { return }
    try self.change(changes, synced: synced, again: again) { _ = try body($0) }
  }

  /// Gets an entry, which is a use of it.
  public func use(_ name: String) { _ = store.bytes(CacheKey(name)) }

  /// Asks for an entry that was made from `source`; an entry with another source is dropped. Throws ``Unexpected`` if
  /// the store returns other bytes than the source demands.
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
    // A store that takes no more changes reports a miss without dropping it.
    if store.contains(key) { history.fail(step) } else { history.acknowledge(step) }
    if found != nil { throw Unexpected(text: "\(name) is found under another source") }
  }

  /// Stores an original with other bytes than before, which removes the named styles of its URL. Throws the store's
  /// errors.
  public func replace(_ name: String, _ bytes: [UInt8], outdating styles: [Style], synced: Bool = false) throws {
    let key = CacheKey(name)
    let outdated = styles.map { History.Change.remove(CacheKey(name, $0)) }
    func put(_ store: CacheStore) throws {
      try store.put(bytes, for: key, options: PutOptions(durability: synced ? .synced : .buffered))
    }
    func again(_ store: CacheStore) throws -> [History.Change] {
      // After a loss, the store may still know which styles were made from the lost original.
      let isAnother = store.bytes(key).map { $0 != bytes } ?? false
      // A style that was put again while the original was lost has no source, and stays.
      let madeFromIt = styles.map { CacheKey(name, $0) }.filter { style in
        if case .found(let entry) = store.lookup(style) { entry.source != nil } else { true }
      }
      try put(store)
      return [.put(key, Content(bytes))] + (isAnother ? madeFromIt.map { .remove($0) } : [])
    }
    try change([.put(key, Content(bytes))] + outdated, synced: synced, again: again, put)
  }

  /// Removes one entry. Throws the store's errors.
  public func remove(_ name: String, style: Style = .original, synced: Bool = false) throws {
    let key = CacheKey(name, style)
    try change([.remove(key)], synced: synced) { store in
      try store.remove(key, durability: synced ? .synced : .buffered)
    }
  }

  /// Removes the originals of several names together. Throws the store's errors.
  public func removeMany(_ names: [String], synced: Bool = false) throws {
    try removeAll(
      synced, { names.contains($0.urlText) && $0.style == .original },
      { _ = try $0.removeMany(names.map { CacheKey($0) }, durability: $1) })
  }

  /// Removes a name in all its styles. Throws the store's errors.
  public func removeAllStyles(_ name: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText == name }, { _ = try $0.removeAllStyles(name, durability: $1) })
  }

  /// Removes all entries of a style. Throws the store's errors.
  public func removeAll(style: Style, synced: Bool = false) throws {
    try removeAll(synced, { $0.style == style }, { _ = try $0.removeAll(style: style, durability: $1) })
  }

  /// Removes the entries that `isMeant` accepts, which are few enough for one frame.
  private func removeAll(
    _ synced: Bool, _ isMeant: (CacheKey) -> Bool, _ body: @escaping (CacheStore, Durability) throws -> Void
  ) throws {
    try change(history.keys.filter(isMeant).map { .remove($0) }, synced: synced) {
      try body($0, synced ? .synced : .buffered)
    }
  }

  /// Removes everything. Throws the store's errors.
  public func removeAll(synced: Bool = false) throws {
    try change([.removeAll], synced: synced) { store in
      try store.removeAll(durability: synced ? .synced : .buffered)
    }
  }

  /// Removes all entries whose URL begins with `prefix`. Throws the store's errors.
  public func removeAll(prefix: String, synced: Bool = false) throws {
    try removeAll(synced, { $0.urlText.hasPrefix(prefix) }, { _ = try $0.removeAll(prefix: prefix, durability: $1) })
  }

  /// Removes all entries that `isMeant` accepts. Throws the store's errors.
  public func removeAll(synced: Bool = false, where isMeant: @escaping (CacheKey) -> Bool) throws {
    try removeAll(synced, isMeant, { _ = try $0.removeAll(durability: $1) { isMeant($0.key) } })
  }

  /// Removes all entries whose URL begins with `prefix`, except those of these URLs. Throws the store's errors.
  public func retain(only names: [String], prefix: String = "", synced: Bool = false) throws {
    try removeAll(
      synced, { $0.urlText.hasPrefix(prefix) && !names.contains($0.urlText) },
      { _ = try $0.retain(only: names, prefix: prefix, durability: $1) })
  }

  // MARK: Several at once

  /// Puts under many styles of one name together. Throws the store's errors.
  public func batch(_ name: String, styles: [(Style, [UInt8])], synced: Bool = false) throws {
    var batch = WriteBatch()
    for (style, bytes) in styles { batch.put(bytes, for: CacheKey(name, style)) }
    try write(batch, styles.map { .put(CacheKey(name, $0), Content($1)) }, synced: synced)
  }

  /// Makes puts and removals of different URLs together. Throws the store's errors.
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
    try change(changes, synced: synced) { try $0.write(batch, durability: synced ? .synced : .buffered) }
  }

  // MARK: Values in pieces

  /// Writes a body in pieces of the given length; no change may be visible before its commit. Throws the store's
  /// errors.
  public func write(
    _ name: String, _ bytes: [UInt8], isLengthKnown: Bool, pieces: Int = 40_000, synced: Bool = false
  ) throws {
    let writer = try self.writer(name, length: isLengthKnown ? bytes.count : nil, synced: synced)
    try evicting {
      for start in stride(from: 0, to: bytes.count, by: pieces) {
        try writer.write(Array(bytes[start..<min(start + pieces, bytes.count)]))
      }
    }
    try commit(writer, name, bytes, synced: synced)
  }

  /// Returns a writer for a body in pieces: end it with ``commit(_:_:_:synced:)``, or drop it. Throws the store's
  /// errors.
  public func writer(_ name: String, length: Int?, synced: Bool = false) throws -> BodyWriter {
    try evicting { try RecordedStore.writer(store, name, length, synced) }
  }

  private static func writer(
    _ store: CacheStore, _ name: String, _ length: Int?, _ synced: Bool
  ) throws(StoreError) -> BodyWriter {
    try store.writer(
      for: CacheKey(name), length: length, options: PutOptions(durability: synced ? .synced : .buffered))
  }

  /// Commits a body. `bytes` are the bytes written into it. Throws the store's errors.
  public func commit(_ writer: BodyWriter, _ name: String, _ bytes: [UInt8], synced: Bool = false) throws {
    let changes = [History.Change.put(CacheKey(name), Content(bytes))]
    func again(_ store: CacheStore) throws -> [History.Change] {
      // In pieces; every other body has a known length.
      let writer = try RecordedStore.writer(store, name, bytes.count % 2 == 0 ? bytes.count : nil, synced)
      try writer.write(Array(bytes.prefix(bytes.count / 3)))
      try writer.write(Array(bytes.dropFirst(bytes.count / 3)))
      try writer.commit()
      return changes
    }
    try change(changes, synced: synced, again: again) { _ in try writer.commit() }
  }

  /// Commits a body whose key was removed after it had begun: nothing may change. A body that was refused for lack of
  /// space has ended. Throws the store's other errors.
  public func commitRemoved(_ writer: BodyWriter) throws {
    try attempt {
      do { try writer.commit() } catch StoreError.aborted, StoreError.noSpace {}
    }
  }

  /// Begins to draw this many rows of 64 bytes, and breaks off in the middle: nothing may change. Throws the store's
  /// errors.
  public func breakOffDrawing(_ name: String, rows: Int) throws {
    struct BrokenOff: Error {}
    guard let layout = BitmapLayout(width: 16, height: rows, format: .rgba8888) else { return }
    try attempt {
      try evicting {
        do {
          try store.draw(CacheKey(name), layout: layout, options: PutOptions()) { memory, _ in
            let half = RecordedStore.bytes(32 * rows, rows)
            memory.withUnsafeMutableBytes { $0.copyBytes(from: half) }
            throw BrokenOff()
          }
        } catch is BrokenOff {}
      }
    }
  }

  /// Draws `bytes`, in rows of 64 bytes; `meanwhile` runs in the middle of it. Throws the store's errors, and the
  /// errors of `meanwhile`.
  public func draw(
    _ name: String, _ bytes: [UInt8], synced: Bool = false, meanwhile: () throws -> Void = {}
  ) throws {
    guard let layout = BitmapLayout(width: 16, height: bytes.count / 64, format: .rgba8888) else { return }
    let options = PutOptions(durability: synced ? .synced : .buffered)
    let changes = [History.Change.put(CacheKey(name), Content(bytes, layout: layout))]
    func again(_ store: CacheStore) throws -> [History.Change] {
      try store.draw(CacheKey(name), layout: layout, options: options) { memory, _ in
        memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
      }
      return changes
    }
    var step: History.StepID?
    try attempt {
      // `meanwhile` notes its own evictions.
      var watch = evictions.watch(store)
      defer { evictions.note(watch, store) }
      do {
        try store.draw(CacheKey(name), layout: layout, options: options) { memory, _ in
          evictions.note(watch, store)
          memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes.prefix(bytes.count / 2)) }
          do {
            defer { watch = evictions.watch(store) }
            try meanwhile()
          }
          memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
          step = history.begin(changes, synced: synced, again: again)
        }
      } catch {
        if let step { history.fail(step) }
        throw error
      }
      if let step { history.acknowledge(step) }
    }
  }
}
