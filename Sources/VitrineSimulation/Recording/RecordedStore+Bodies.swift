import Vitrine

// Values that arrive in pieces.
extension RecordedStore {
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
      var watch = EvictionWatch(self)
      defer { watch.note(in: self) }
      do {
        try store.draw(CacheKey(name), layout: layout, options: options) { memory, _ in
          watch.note(in: self)
          memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes.prefix(bytes.count / 2)) }
          do {
            defer { watch = EvictionWatch(self) }
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
