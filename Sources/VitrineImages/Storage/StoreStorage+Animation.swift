import Vitrine

/// An animation is one entry: its style has the name of the frames' style after `frames-`. It has at most an eighth of
/// the store's budget. Limits of styles do not count it.
extension StoreStorage: AnimationStorage {
  /// Returns the entry of an animation, which counts as a use. Its bitmaps are mapped from the store. Reads outside the
  /// thread pool of `async` code. Never throws.
  public func animation(_ style: ImageStyle, for key: String) async throws -> StoredAnimation? {
    guard let key = StoreStorage.key(style, key), let blob = await store.asynchronous.blob(for: key),
      let strip = blob.withBytes({ FilmStrip($0) })
    else { return nil }
    let times = AnimationTimes(durations: strip.durations, playCount: strip.playCount)
    return StoredAnimation(times, metadata: blob.metadata) { index in
      Bitmap(blob, strip.layout, at: strip.offset(of: index))
    }
  }

  /// Writes the frames as they are drawn. Throws `StoreError`, and errors of `draw`.
  public func saveAnimation(
    _ style: ImageStyle, _ times: AnimationTimes, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable () throws -> Bitmap
  ) async throws -> StoredAnimation? {
    guard let entry = StoreStorage.key(style, key), !times.durations.isEmpty else { return nil }
    let isKept = try await threads.run { [self] in
      guard isOf(original, key) else { return false }
      let note = batch(noting: original, key)
      if !note.isEmpty { try store.write(note) }
      var bitmap = try draw()
      let strip = FilmStrip(layout: bitmap.layout, durations: times.durations, playCount: times.playCount)
      guard strip.byteCount <= store.byteBudget / 8 else { return false }
      let writer = try store.writer(for: entry, length: strip.byteCount, options: options(metadata))
      try writer.write(strip.header)
      for index in times.durations.indices {
        if index > 0 { bitmap = try draw() }
        guard bitmap.layout == strip.layout else { return false }
        try bitmap.withPixels { try writer.write($0.extracting(first: strip.layout.byteCount)) }
        try writer.write(strip.padding)
      }
      try writer.commit()
      if isOf(original, key) { return true }
      // Another writer has stored a different original since the first check.
      _ = try store.remove(entry)
      return false
    }
    return isKept ? try await animation(style, for: key) : nil
  }

  /// Removes the entry. Throws `StoreError`.
  public func removeAnimation(_ style: ImageStyle, for key: String) async throws {
    guard let entry = StoreStorage.key(style, key) else { return }
    try await threads.run { [self] in _ = try store.remove(entry) }
  }

  /// Changes the metadata of an entry. Throws `StoreError`.
  public func setMetadata(
    _ metadata: [UInt8], ofAnimation style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    guard let entry = StoreStorage.key(style, key) else { return }
    try await threads.run { [self] in
      guard isOf(original, key) else { return }
      _ = try store.setMetadata(metadata, for: entry)
    }
  }

  /// Returns nil for a style whose name is too long.
  private static func key(_ style: ImageStyle, _ key: String) -> CacheKey? {
    Style("frames-\(style.name)").map { CacheKey(key, $0) }
  }
}
