import Vitrine

/// Keeps pictures in a ``CacheStore``: originals under their key in the style `original`, and what is made of them under the
/// style's name. With a new original goes what was made from the old one. An original that is not kept itself leaves a note
/// of its digest, in the style ``originalNote``.
///
/// Pixels that come out are the store's own memory, and a single style is drawn into it. Costs are those of the store's
/// calls; all that may wait for the disk runs off the pool of threads that runs `async` code.
///
/// Copies share what they know of styles; two made separately over one store do not, so a store whose styles are limited
/// has one.
public struct StoreStorage: ImageStorage {
  /// The store of all pictures.
  public let store: CacheStore
  /// For how long, in milliseconds, an entry is kept; nil for as long as the store's limits let it.
  public var lifetimeMilliseconds: Int64?
  let index: StyleIndex
  let threads = WorkerThreads()

  /// `styleLimits`: how many pictures of a style are kept at most, those used least recently going first; styles that are
  /// not named have no limit but the store's own. The entries of a limited style are counted once in a process, before the
  /// first is kept: O(entries of the store). From then on a picture costs one removal where the limit is reached, in the
  /// same batch where there is one; and the keys, up to the limit, are held in memory. Counted are those that came and went
  /// through this storage, and what was there at first.
  public init(_ store: CacheStore, lifetimeMilliseconds: Int64? = nil, styleLimits: [ImageStyle: Int] = [:]) {
    self.store = store
    self.lifetimeMilliseconds = lifetimeMilliseconds
    index = StyleIndex(store, limits: styleLimits)
  }

  /// The style of an entry that holds the digest, 16 bytes, of an original that is not kept.
  public static let originalNote = Style("original-digest")!

  // MARK: Originals

  /// Returns the entry of the style `original`. Reads off the threads of `async` code.
  public func original(for key: String) async throws -> StoredOriginal? {
    guard let blob = await store.asynchronous.blob(for: CacheKey(key)) else { return nil }
    return StoredOriginal(bytes: .blob(blob), metadata: blob.metadata)
  }

  /// Puts an original. One with another digest removes all styles of the key. Throws ``StoreError``.
  public func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    let options = options(metadata)
    let isOther = try await threads.run { [self] in
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

  /// Keeps the digest of an original. Another digest removes all styles of the key. Throws ``StoreError``.
  public func noteOriginal(_ digest: Digest, for key: String) async throws {
    let isOther = try await threads.run { [self] in
      if self.digest(for: key) == digest { return false }
      try store.removeAllStyles(key)
      try store.put(StoreStorage.note(digest), for: key, style: StoreStorage.originalNote, options: noteOptions)
      return true
    }
    if isOther { await index.forget([key]) }
  }

  /// Changes the metadata of an original. Throws ``StoreError``.
  public func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    _ = try await store.asynchronous.setMetadata(metadata, for: CacheKey(key))
  }

  /// Of the original that all styled entries of the key were made from; nil where that is not known, because the store has
  /// let it go.
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

  /// Removes all styles of the keys. Throws ``StoreError``.
  public func remove(_ keys: [String]) async throws {
    try await emptied {
      for key in keys { _ = try await store.asynchronous.removeAllStyles(key) }
    } else: {
      for key in keys { store.conceal(CacheKey(key)) }
    }
    await index.forget(keys)
  }

  /// Removes all keys but these, or all with the prefix but these. O(entries). Throws ``StoreError``.
  public func retain(only keys: [String], prefix: String?) async throws {
    let store = store
    try await emptied { _ = try await store.asynchronous.retain(only: keys, prefix: prefix ?? "") }
    await index.retain(only: Set(keys.map(KeyText.init)), prefix: prefix ?? "")
  }

  /// Runs a removal. In a folder that was deleted or replaced nothing is left to be removed: the store gives nothing any
  /// more of what the removal has named.
  private func emptied(_ removal: () async throws -> Void, else conceal: () -> Void = {}) async throws {
    do {
      try await removal()
    } catch StoreError.storeRemoved {
      conceal()
    } catch StoreError.aborted {
      // The store was made anew, and is empty.
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
