/// The calls of a store that may wait for the disk, as `async` functions.
///
/// Each call runs on a thread of the library's small pool and never blocks the cooperative pool. That adds about 10 µs
/// to a call. For the other costs and for errors, see the same call of ``CacheStore``. Safe from any task.
///
/// Most `synced` changes hold no thread while they wait for the disk, so any number of them share one sync. A drawing,
/// `retain`, a removal with a predicate and a removal that erases hold a thread while they wait. With
/// ``StoreOptions/recreatesIfRemoved``, every `synced` change does. A long call keeps one of the pool's few threads
/// until it returns.
///
/// Cancellation does not undo or split a change that has begun. The long calls ``compact(progress:)`` and
/// ``idle(while:)`` stop early when their task is cancelled.
public struct AsyncCacheStore: Sendable {
  let store: CacheStore

  /// Opens a store on a thread of the pool. Throws the errors of ``CacheStore/open(at:options:)``, and costs as much.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions()
  ) async throws(StoreError) -> CacheStore {
    try await run { () throws(StoreError) in try CacheStore.open(at: path, options: options) }
  }

  /// Makes all changes durable and closes the store. Throws the errors of ``CacheStore/close()``.
  public func close() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.close() }
  }

  // MARK: Reading

  /// Returns a copy of an entry's bytes, or nil if there is no entry.
  public func bytes(_ key: CacheKey, source: Source? = nil) async -> [UInt8]? {
    await AsyncCacheStore.read { store.bytes(key, source: source) }
  }

  /// Returns a copy of a part of a value, cut at the ends of the value, or nil if there is no entry. See
  /// ``CacheStore/bytes(_:range:source:)``.
  public func bytes(_ key: CacheKey, range: Range<Int>, source: Source? = nil) async -> [UInt8]? {
    await AsyncCacheStore.read { store.bytes(key, range: range, source: source) }
  }

  /// Whether there is an unexpired entry. See ``CacheStore/contains(_:source:)``.
  public func contains(_ key: CacheKey, source: Source? = nil) async -> Bool {
    await AsyncCacheStore.read { store.contains(key, source: source) }
  }

  /// Calls `body` with an entry's bytes on a thread of the pool. Returns nil if there is no entry.
  public func get<R: Sendable>(
    _ key: CacheKey, source: Source? = nil, _ body: @escaping @Sendable (RawSpan) -> R
  ) async -> R? {
    await AsyncCacheStore.read { store.get(key, source: source, body) }
  }

  /// Calls `body` with an entry's bytes on a thread of the pool, and does not count as a use. Returns nil if there is
  /// no entry.
  public func peek<R: Sendable>(
    _ key: CacheKey, source: Source? = nil, _ body: @escaping @Sendable (RawSpan) -> R
  ) async -> R? {
    await AsyncCacheStore.read { store.peek(key, source: source, body) }
  }

  /// Calls `body` once for each key, in order, on a thread of the pool, with nil on a miss. `sources[i]` is the source
  /// that the entry of `keys[i]` must be made from; if it is nil or `sources` is shorter, any source matches.
  public func getMany(
    _ keys: [CacheKey], sources: [Source?] = [], _ body: @escaping @Sendable (Int, RawSpan?) -> Void
  ) async {
    await AsyncCacheStore.read { store.getMany(keys, sources: sources, body) }
  }

  /// Returns the entry of a key without its bytes, or the reason for a miss. The first lookup since opening reads and
  /// checks the whole value.
  public func lookup(_ key: CacheKey, source: Source? = nil) async -> LookupResult {
    await AsyncCacheStore.read { store.lookup(key, source: source) }
  }

  // MARK: Changing

  /// Stores a value. If the put is `synced`, the value is durable when the call returns. Throws the errors of
  /// `CacheStore.put(_:for:options:)`.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()
  ) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.put(bytes, for: key, options: options) }
  }

  /// Stores all values, or none of them. Throws the errors of ``CacheStore/putMany(_:durability:)``.
  public func putMany(
    _ entries: [(key: CacheKey, bytes: [UInt8], options: PutOptions)], durability: Durability? = nil
  ) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.putMany(entries, durability: durability) }
  }

  /// Makes all changes of a batch, or none of them. Throws the errors of ``CacheStore/write(_:durability:)``.
  public func write(_ batch: WriteBatch, durability: Durability? = nil) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.write(batch, durability: durability) }
  }

  /// Replaces an entry's metadata. Returns false if there is no entry. Throws the errors of
  /// ``CacheStore/setMetadata(_:for:durability:)``.
  @discardableResult
  public func setMetadata(
    _ metadata: [UInt8], for key: CacheKey, durability: Durability? = nil
  ) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in
      try store.setMetadata(metadata, for: key, durability: durability)
    }
  }

  /// Pins an entry, so eviction leaves it. Returns false if there is no entry. Throws the errors of
  /// ``CacheStore/pin(_:durability:)``.
  @discardableResult
  public func pin(_ key: CacheKey, durability: Durability? = nil) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in try store.pin(key, durability: durability) }
  }

  /// Ends the pin of an entry. Returns false if there is no entry. Throws the errors of
  /// ``CacheStore/unpin(_:durability:)``.
  @discardableResult
  public func unpin(_ key: CacheKey, durability: Durability? = nil) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in try store.unpin(key, durability: durability) }
  }

  /// Replaces an entry's expiry. `milliseconds`: since 1970; nil for none. Returns false if there is no entry. Throws
  /// the errors of ``CacheStore/setExpiration(_:for:durability:)``.
  @discardableResult
  public func setExpiration(
    _ milliseconds: Int64?, for key: CacheKey, durability: Durability? = nil
  ) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in
      try store.setExpiration(milliseconds, for: key, durability: durability)
    }
  }

  // MARK: Removing

  /// Removes one entry. Returns whether there was one. Throws the errors of
  /// ``CacheStore/remove(_:durability:erases:)``.
  @discardableResult
  public func remove(
    _ key: CacheKey, durability: Durability? = nil, erases: Bool = false
  ) async throws(StoreError) -> Bool {
    let body = { @Sendable () throws(StoreError) in try store.remove(key, durability: durability, erases: erases) }
    // Erasing copies segments, which requires that the removal is complete.
    if erases { return try await AsyncCacheStore.run(body) }
    return try await change(body)
  }

  /// Removes the entries of many keys together. Returns the number of entries removed. Throws the errors of
  /// ``CacheStore/removeMany(_:durability:erases:)``.
  @discardableResult
  public func removeMany(_ keys: [CacheKey], durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in try store.removeMany(keys, durability: durability) }
  }

  /// Removes all styles of a URL together. Returns the number of entries removed. Throws the errors of
  /// ``CacheStore/removeAllStyles(_:durability:erases:)``.
  @discardableResult
  public func removeAllStyles(_ url: String, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in try store.removeAllStyles(url, durability: durability) }
  }

  /// Removes every entry of a style. Returns the number of entries removed. O(entries). Throws the errors of
  /// ``CacheStore/removeAll(style:durability:)``.
  @discardableResult
  public func removeAll(style: Style, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in
      try store.removeAll(style: style, durability: durability)
    }
  }

  /// Removes every entry whose URL begins with `prefix`. Returns the number of entries removed. O(entries). Throws the
  /// errors of ``CacheStore/removeAll(style:durability:)``.
  @discardableResult
  public func removeAll(prefix: String, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in
      try store.removeAll(prefix: prefix, durability: durability)
    }
  }

  /// Removes every unexpired entry for which `predicate`, called on a thread of the pool, returns true. Returns the
  /// number of entries removed. The predicate is also called for unfinished bodies and drawings
  /// (``CacheStore/removeAll(durability:where:)``). O(entries). Throws the errors of
  /// ``CacheStore/removeAll(durability:where:)``.
  @discardableResult
  public func removeAll(
    durability: Durability? = nil, where predicate: @escaping @Sendable (EntryInfo) -> Bool
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.removeAll(durability: durability, where: predicate)
    }
  }

  /// Removes every entry. Throws the errors of ``CacheStore/removeAll(durability:)``.
  public func removeAll(durability: Durability? = nil) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.removeAll(durability: durability) }
  }

  // MARK: The pool

  private func change<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    try await AsyncCacheStore.change(store, body)
  }

  /// Runs a change of `store` on a thread of the pool. If the change waits for the disk, the wait holds no thread, so
  /// any number of changes share one sync. `body` must not call the user's code. A store that recreates a removed
  /// folder waits on the thread instead, because the call that finds the folder removed repeats its change in the new
  /// one.
  static func change<R: Sendable>(
    _ store: CacheStore, _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    if store.options.recreatesIfRemoved { return try await run(body) }
    let result: Result<R, StoreError> = await BlockingPool.shared.run { finish in
      do throws(StoreError) {
        let (result, left) = try Syncer.upToFrame(body)
        guard let left else { return finish(.success(result)) }
        left.syncer.acknowledgeSynced(left.sequence) { finish($0.map { result }) }
      } catch {
        finish(.failure(error))
      }
    }
    return try result.get()
  }

  static func run<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    try await result(body).get()
  }

  static func result<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async -> Result<R, StoreError> {
    await BlockingPool.shared.run {
      do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
    }
  }

  static func read<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    let result: Result<R, Never> = await BlockingPool.shared.run { .success(body()) }
    return result.get()
  }
}
