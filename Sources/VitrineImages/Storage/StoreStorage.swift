import Vitrine

/// Keeps pictures in a `CacheStore`: originals under their key in the style `original`, and styled pictures under
/// the name of their style. A new original removes the styled pictures of the previous one. For an original that is
/// not stored, an entry of the style ``originalNote`` holds its digest.
///
/// Returned pixels are mapped from the store, and a single style is drawn directly into it. Costs are those of the
/// store's calls. Work that may wait for the disk runs outside the thread pool of `async` code.
///
/// Copies of this value share their index of styles. Two separate instances over one store do not, so use a single
/// instance if styles have limits.
public struct StoreStorage: ImageStorage {
  /// The store of all pictures.
  public let store: CacheStore
  /// The sliding lifetime of an entry in milliseconds, or nil for the store's own limits.
  public var lifetimeMilliseconds: Int64?
  let index: StyleIndex
  let threads = WorkerThreads()

  /// Creates a storage over a store. O(1).
  ///
  /// `styleLimits` holds the largest number of pictures for each limited style; the least recently used are removed
  /// first. Other styles have only the limits of the store. The entries of limited styles are counted once in a
  /// process, before the first is stored: O(entries of the store). After that, a picture at the limit costs one
  /// removal, in the same batch if there is one. The keys, up to the limit, are held in memory. Only initial entries
  /// and changes through this storage count.
  public init(_ store: CacheStore, lifetimeMilliseconds: Int64? = nil, styleLimits: [ImageStyle: Int] = [:]) {
    self.store = store
    self.lifetimeMilliseconds = lifetimeMilliseconds
    index = StyleIndex(store, limits: styleLimits)
  }

  /// The style of an entry that holds the digest, 16 bytes, of an original that is not stored.
  public static let originalNote = Style("original-digest")!

  // MARK: Originals

  /// Returns the entry of the style `original`. Reads outside the thread pool of `async` code. Never throws.
  public func original(for key: String) async throws -> StoredOriginal? {
    guard let blob = await store.asynchronous.blob(for: CacheKey(key)) else { return nil }
    return StoredOriginal(bytes: .blob(blob), metadata: blob.metadata)
  }

  /// Puts an original. Unless its digest equals the stored one, removes all styles of the key. Throws
  /// `StoreError`.
  public func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    let options = options(metadata)
    let isOther = try await changing(key) { [self] in
      let digest = bytes.withUnsafeBytes { Digest(of: $0) }
      let isOther = self.digest(for: key) != digest
      if isOther { try store.removeAllStyles(key) }
      var batch = WriteBatch()
      if store.contains(key, style: StoreStorage.originalNote) {
        batch.remove(CacheKey(key, StoreStorage.originalNote))
      }
      batch.put(bytes, for: CacheKey(key), options: options)
      try store.write(batch)
      return isOther
    }
    if isOther { await index.forget([key]) }
  }

  /// Stores the digest of an original. Unless it equals the stored one, removes all styles of the key. Throws
  /// `StoreError`.
  public func noteOriginal(_ digest: Digest, for key: String) async throws {
    let isOther = try await changing(key) { [self] in
      if self.digest(for: key) == digest { return false }
      try store.removeAllStyles(key)
      try store.put(StoreStorage.note(digest), for: key, style: StoreStorage.originalNote, options: noteOptions)
      return true
    }
    if isOther { await index.forget([key]) }
  }

  /// Changes the metadata of an original. Throws `StoreError`.
  public func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    _ = try await store.asynchronous.setMetadata(metadata, for: CacheKey(key))
  }

  /// The digest of the original of all styled entries of the key, or nil if it is unknown because the store evicted
  /// it.
  func digest(for key: String) -> Digest? {
    if case .found(let entry) = store.lookup(key) { return entry.digest }
    return store.get(key, style: StoreStorage.originalNote) { bytes in
      bytes.withUnsafeBytes { StoreStorage.digest(inNote: $0) }
    } ?? nil
  }

  static func note(_ digest: Digest) -> [UInt8] {
    [digest.high, digest.low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  private static func digest(inNote bytes: UnsafeRawBufferPointer) -> Digest? {
    guard bytes.count == 16 else { return nil }
    func word(_ start: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << (8 * $1) } }
    return Digest(high: word(0), low: word(8))
  }

  // MARK: Keys

  /// Removes all styles of the keys. Throws `StoreError`.
  public func remove(_ keys: [String]) async throws {
    try await emptied {
      for key in keys { _ = try await store.asynchronous.removeAllStyles(key) }
    } else: {
      for key in keys { store.conceal(CacheKey(key)) }
    }
    await index.forget(keys)
  }

  /// Removes all keys except `keys`, or all keys with the prefix except those. O(entries). Throws `StoreError`.
  public func retain(only keys: [String], prefix: String?) async throws {
    let store = store
    try await emptied { _ = try await store.asynchronous.retain(only: keys, prefix: prefix ?? "") }
    await index.retain(only: Set(keys.map(KeyText.init)), prefix: prefix ?? "")
  }

  /// Runs a change of the original of a key. If the store can no longer be written, gets miss the previous pictures of
  /// the key from then on: they are outdated.
  private func changing<R: Sendable>(_ key: String, _ change: @escaping @Sendable () throws -> R) async throws -> R {
    do {
      return try await threads.run(change)
    } catch {
      store.conceal(CacheKey(key))
      throw error
    }
  }

  /// Runs a removal. If it fails, `conceal` makes the removed keys misses, in case the store can no longer be written.
  /// If the folder was deleted or replaced, there are no entries left to remove.
  private func emptied(_ removal: () async throws -> Void, else conceal: () -> Void = {}) async throws {
    do {
      try await removal()
    } catch StoreError.storeRemoved {
      conceal()
    } catch StoreError.aborted {
      // The store was recreated, and is empty.
    } catch {
      conceal()
      throw error
    }
  }

  // MARK: Options

  func options(_ metadata: [UInt8]) -> PutOptions {
    PutOptions(metadata: metadata, slidingExpirationMilliseconds: lifetimeMilliseconds)
  }

  var noteOptions: PutOptions {
    var options = options([])
    options.source = .none
    return options
  }
}
