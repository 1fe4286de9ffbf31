import Vitrine

extension StoreStorage {
  /// Returns the entry of a style, which counts as a use. Reads outside the thread pool of `async` code. Never throws.
  public func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    guard let blob = await store.asynchronous.blob(for: CacheKey(key, style.key)) else { return nil }
    index.use(style, key)
    return StoreStorage.styled(blob)
  }

  /// Returns the entry of a style if it needs no read of the disk. This counts as a use.
  public func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled? {
    guard let blob = store.blobAtHand(CacheKey(key, style.key)) else { return nil }
    index.use(style, key)
    return StoreStorage.styled(blob)
  }

  private static func styled(_ blob: Blob) -> StoredStyled? {
    if blob.encoding == .bitmap { return Bitmap(blob).map { StoredStyled(.pixels($0), metadata: blob.metadata) } }
    return StoredStyled(.encoded(.blob(blob)), metadata: blob.metadata)
  }

  /// Returns the entry of the same key that looks most like `style`: see `NearestStyle`. Costs one lookup for each
  /// style of the store that has a size. The first call in a process also walks over the store's keys. The walk delays
  /// only calls that need its result. Never throws.
  public func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    await index.ready()
    for near in NearestStyle.order(index.sizedStyles, near: style) where store.contains(key, style: near.key) {
      if let blob = await store.asynchronous.blob(for: CacheKey(key, near.key)),
        let styled = StoreStorage.styled(blob)
      {
        return styled
      }
    }
    return nil
  }

  // MARK: Keeping

  /// Puts the pictures in one batch. Throws `StoreError`.
  public func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    let admission = await index.admit(pictures.map(\.style), key)
    let wanted = pictures.filter { admission.admitted.contains($0.style) }
    let isKept = try await undoing(admission) {
      try await threads.run { [self] in
        guard !wanted.isEmpty, isOf(original, key) else { return false }
        var batch = batch(noting: original, key)
        for victim in admission.victims { batch.remove(CacheKey(victim.key.text, victim.style.key)) }
        for picture in wanted { put(picture, key, into: &batch) }
        try store.write(batch)
        guard try isStillOf(original, key, wanted.map(\.style)) else { return false }
        try removeUncounted(wanted.map(\.style), key)
        return true
      }
    }
    var stored: [StoredStyled] = []
    for picture in pictures {
      let given = StoredStyled(picture.content, metadata: picture.metadata)
      // If the entry was evicted again, or its original replaced, this call returns the given picture.
      stored.append(
        isKept && admission.admitted.contains(picture.style)
          ? try await styled(picture.style, for: key) ?? given : given)
    }
    return stored
  }

  /// Changes the metadata of an entry. Throws `StoreError`.
  public func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    try await threads.run { [self] in
      guard isOf(original, key) else { return }
      _ = try store.setMetadata(metadata, for: CacheKey(key, style.key))
    }
  }

  /// Draws into a segment of the store. Throws `StoreError`, and errors of `draw`.
  public func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled? {
    let admission = await index.admit([style], key)
    if admission.admitted.isEmpty { return nil }
    let isKept = try await undoing(admission) {
      try await threads.run { [self] in
        guard isOf(original, key) else { return false }
        let note = batch(noting: original, key)
        if !note.isEmpty { try store.write(note) }
        try store.draw(CacheKey(key, style.key), layout: layout, options: options(metadata)) { memory, _ in
          try draw(&memory)
        }
        guard try isStillOf(original, key, [style]) else { return false }
        // Not before: a drawing in vain must not cost a picture.
        let victims = admission.victims.map { CacheKey($0.key.text, $0.style.key) }
        if !victims.isEmpty { try store.removeMany(victims) }
        try removeUncounted([style], key)
        return true
      }
    }
    return isKept ? try await styled(style, for: key) : nil
  }

  /// Whether pictures of this original may be stored: the key has this original, or an unknown one.
  func isOf(_ original: Digest, _ key: String) -> Bool { digest(for: key).map { $0 == original } ?? true }

  /// Checks again after the write, since another writer may have stored a different original between check and write.
  /// In that case, removes the new entries, which would count as made from that original.
  private func isStillOf(_ original: Digest, _ key: String, _ styles: [ImageStyle]) throws -> Bool {
    if isOf(original, key) { return true }
    try store.removeMany(styles.map { CacheKey(key, $0.key) })
    return false
  }

  /// Removes pictures just written that count no more: while they were written, another picture took their place, and its
  /// removal of them came before the write.
  private func removeUncounted(_ styles: [ImageStyle], _ key: String) throws {
    let uncounted = styles.filter { !index.counts($0, key) }
    if !uncounted.isEmpty { try store.removeMany(uncounted.map { CacheKey(key, $0.key) }) }
  }

  /// Returns a batch with a note of the original's digest, if the store does not record it yet.
  func batch(noting original: Digest, _ key: String) -> WriteBatch {
    var batch = WriteBatch()
    if digest(for: key) == nil {
      batch.put(StoreStorage.note(original), for: CacheKey(key, StoreStorage.originalNote), options: noteOptions)
    }
    return batch
  }

  private func put(_ picture: StyledPicture, _ key: String, into batch: inout WriteBatch) {
    var options = options(picture.metadata)
    let key = CacheKey(key, picture.style.key)
    switch picture.content {
    case .pixels(let bitmap):
      options.layout = bitmap.layout
      batch.put(bitmap.array, for: key, options: options)
    case .encoded(let bytes): batch.put(bytes.array, for: key, options: options)
    }
  }

  /// Reverts an admission if `body` stored nothing.
  private func undoing(_ admission: StyleIndex.Admission, _ body: () async throws -> Bool) async throws -> Bool {
    do {
      let isKept = try await body()
      if !isKept { index.undo(admission) }
      return isKept
    } catch {
      index.undo(admission)
      throw error
    }
  }
}
