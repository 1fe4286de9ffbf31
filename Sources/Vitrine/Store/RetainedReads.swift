// A retained get: the value is found and pinned as for a borrowed one; then a reference to its segment takes the pin's
// place, or a copy where there is none to take.
extension StoreCore {
  /// Nil when there is nothing to give, and when there is no memory for a copy.
  func blob(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source?) -> Blob? {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    return style.bytes.withUnsafeBytes { style in
      var counts = true
      while true {
        let borrow = borrow(url, style, hash, source: source, counts: counts)
        guard borrow.isFound else { return nil }
        let head = catalog.keys.withEntry(hash, borrow.location) { _ in catalog.segments.pin(borrow.location.slot) }
        var blob: Blob?
        var isDamaged = false
        if let head {
          do throws(SystemError) {
            (blob, isDamaged) = try retain(borrow)
          } catch {
            // Its file cannot be opened now: a miss, but nothing is dropped.
          }
          head.release()
        }
        if !giveBack(borrow) { isDamaged = true }
        if isDamaged {
          dropDamaged(borrow)
          return nil
        }
        if head != nil { return blob }
        // It was replaced, or moved, between the two looks: again.
        counts = false
      }
    }
  }

  /// The payload is borrowed, and the key's own record pinned.
  private func retain(_ borrow: Borrow) throws(SystemError) -> (blob: Blob?, isDamaged: Bool) {
    guard let view = try catalog.openRecord(at: borrow.location, checks: true),
      view.header.logicalByteCount == borrow.count
    else { return (nil, true) }
    let blob = hold(borrow).map { Blob($0, of: view, digestOf: environment.digest) }
    return (blob, catalog.segments.isDamaged(view.head, slot: borrow.location.slot))
  }

  private func hold(_ borrow: Borrow) -> Blob.Memory? {
    if !borrow.isCopied, borrow.count > 0, let start = borrow.start,
      let hold = catalog.segments.storage(of: borrow.pin)?.hold(limit: blobLimit.load(ordering: .relaxed))
    {
      return .segment(hold, start)
    }
    // A page, so that what was put page-aligned stays so.
    let alignment = borrow.count >= 4096 ? 4096 : Unit.byteCount
    return OwnedBytes(copying: borrow.bytes, alignment: alignment).map { .copy($0) }
  }
}

extension CacheStore {
  /// The value of an entry, to keep beyond a closure: without a copy as long as the Blobs at hand hold no more than an
  /// eighth of the byte budget, in whole segments, and as a copy beyond that, or when it is compressed.
  ///
  /// Nil when there is nothing to give: ``lookup(_:style:source:)`` says why. Counts as use, and a `source` means the
  /// same as in ``get(_:style:source:_:)``. About a microsecond, and a copy where there is one; the first read of an
  /// entry since opening also reads it through and checks it. Thread-safe.
  public func blob(_ url: String, style: Style = .original, source: Source? = nil) -> Blob? {
    url.utf8Span.span.bytes.withUnsafeBytes { url in read { $0.blob(url, style, source: source) } }
  }

  /// The same for a whole key.
  public func blob(_ key: CacheKey, source: Source? = nil) -> Blob? {
    key.url.withUnsafeBytes { url in read { $0.blob(url, key.style, source: source) } }
  }

  /// The value of an entry if it can be given in this moment, as ``blob(_:source:)`` gives it: one that was checked since
  /// opening and is not compressed. Nil for all others, and where there is none; then neither use nor miss is counted. No file
  /// is read; pages that the system has given up since the check come back when they are touched. Thread-safe.
  public func blobAtHand(_ key: CacheKey) -> Blob? {
    key.url.withUnsafeBytes { url in
      read { $0.isAtHand(url, key.style) == true ? $0.blob(url, key.style, source: nil) : nil }
    }
  }
}

extension AsyncCacheStore {
  /// The value of an entry, to keep: ``CacheStore/blob(_:source:)``. What was checked before and is not compressed is given on
  /// the thread of the caller, since that waits for nothing and going elsewhere costs many times what the get does.
  public func blob(for key: CacheKey, source: Source? = nil) async -> Blob? {
    let isAtHand = key.url.withUnsafeBytes { url in store.read { $0.isAtHand(url, key.style) } }
    if source == nil, isAtHand ?? true { return store.blob(key) }
    return await AsyncCacheStore.read { store.blob(key, source: source) }
  }
}
