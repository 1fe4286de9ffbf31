/// The calls of a store that may wait for the disk, as `async` functions: each runs on a thread of a small pool of the
/// library's own, so that the cooperative pool is never blocked. About 10 µs a call on top; what a call costs otherwise,
/// and what it throws, is said where ``CacheStore`` has it. Any task may call them, at any time.
///
/// A call that waits for the disk holds no thread: any number of `synced` changes share one sync.
///
/// A call that has begun is not cancelled: its change happens whole. Those that take long and can stop half-way
/// (``compact(progress:)``, ``idle(while:)``) do so when their task is cancelled. A long call keeps one of the pool's few
/// threads for as long as it takes.
public struct AsyncCacheStore: Sendable {
  let store: CacheStore

  /// Opens a store off the caller's executor.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions()
  ) async throws(StoreError) -> CacheStore {
    try await run { () throws(StoreError) in try CacheStore.open(at: path, options: options) }
  }

  /// Makes everything durable, and lets the store go.
  public func close() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.close() }
  }

  // MARK: Reading

  /// A copy of an entry's bytes.
  public func bytes(for key: CacheKey, source: Source? = nil) async -> [UInt8]? {
    await AsyncCacheStore.read { store.bytes(key, source: source) }
  }

  /// Calls `body` with an entry's bytes on a thread of the pool; nil when there is nothing.
  public func get<R: Sendable>(
    _ key: CacheKey, source: Source? = nil, _ body: @escaping @Sendable (RawSpan) -> R
  ) async -> R? {
    await AsyncCacheStore.read { store.get(key, source: source, body) }
  }

  /// Calls `body` for each of many keys, in their order, on a thread of the pool.
  public func getMany(
    _ keys: [CacheKey], sources: [Source?] = [], _ body: @escaping @Sendable (Int, RawSpan?) -> Void
  ) async {
    await AsyncCacheStore.read { store.getMany(keys, sources: sources, body) }
  }

  /// What there is under a key, or why there is nothing. The first look since opening reads the value through.
  public func lookup(_ key: CacheKey, source: Source? = nil) async -> LookupResult {
    await AsyncCacheStore.read { store.lookup(key, source: source) }
  }

  // MARK: Changing

  /// Stores a value; a `synced` one has been waited for.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()
  ) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.put(bytes, for: key, options: options) }
  }

  /// Stores many values: all of them or none.
  public func putMany(
    _ entries: [(key: CacheKey, bytes: [UInt8], options: PutOptions)], durability: Durability? = nil
  ) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.putMany(entries, durability: durability) }
  }

  /// Makes the changes of a batch: all of them or none.
  public func write(_ batch: WriteBatch, durability: Durability? = nil) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.write(batch, durability: durability) }
  }

  /// Replaces an entry's metadata; false when there is no entry.
  @discardableResult
  public func setMetadata(
    _ metadata: [UInt8], for key: CacheKey, durability: Durability? = nil
  ) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in
      try store.setMetadata(metadata, for: key, durability: durability)
    }
  }

  /// Replaces an entry's expiry; false when there is no entry.
  @discardableResult
  public func setExpiration(
    _ milliseconds: Int64?, for key: CacheKey, durability: Durability? = nil
  ) async throws(StoreError) -> Bool {
    try await change { () throws(StoreError) in
      try store.setExpiration(milliseconds, for: key, durability: durability)
    }
  }

  // MARK: Removing

  /// Removes one entry; answers whether there was one.
  @discardableResult
  public func remove(
    _ key: CacheKey, durability: Durability? = nil, erases: Bool = false
  ) async throws(StoreError) -> Bool {
    let body = { @Sendable () throws(StoreError) in try store.remove(key, durability: durability, erases: erases) }
    // To erase means to copy segments, which relies on the removal.
    if erases { return try await AsyncCacheStore.run(body) }
    return try await change(body)
  }

  /// Removes the entries of many keys together; answers how many there were.
  @discardableResult
  public func removeMany(_ keys: [CacheKey], durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in try store.removeMany(keys, durability: durability) }
  }

  /// Removes all styles of a URL together; answers how many there were.
  @discardableResult
  public func removeAllStyles(_ url: String, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in try store.removeAllStyles(url, durability: durability) }
  }

  /// Removes every entry of a style; answers how many there were. O(entries).
  @discardableResult
  public func removeAll(style: Style, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in
      try store.removeAll(style: style, durability: durability)
    }
  }

  /// Removes every entry whose URL begins with `prefix`; answers how many there were. O(entries).
  @discardableResult
  public func removeAll(prefix: String, durability: Durability? = nil) async throws(StoreError) -> Int {
    try await change { () throws(StoreError) in
      try store.removeAll(prefix: prefix, durability: durability)
    }
  }

  /// Removes every entry that `predicate` picks, which is asked on a thread of the pool. O(entries).
  @discardableResult
  public func removeAll(
    durability: Durability? = nil, where predicate: @escaping @Sendable (EntryInfo) -> Bool
  ) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.removeAll(durability: durability, where: predicate)
    }
  }

  /// Removes everything.
  public func removeAll(durability: Durability? = nil) async throws(StoreError) {
    try await change { () throws(StoreError) in try store.removeAll(durability: durability) }
  }

  // MARK: The pool

  private func change<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    try await AsyncCacheStore.change(store, body)
  }

  /// Runs a change of `store` on a thread of the pool. The wait for the disk, where it has one, takes no thread: changes
  /// that wait share a sync, however many they are. `body` calls nothing of the user's. A store that makes itself anew waits
  /// on the thread: the call that meets a removed folder makes its change in the new one.
  static func change<R: Sendable>(
    _ store: CacheStore, _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    if store.options.recreatesIfRemoved { return try await run(body) }
    let result: Result<R, StoreError> = await BlockingPool.shared.run { finish in
      do throws(StoreError) {
        let (result, frame) = try store.core.syncer.upToFrame(body)
        guard let frame else { return finish(.success(result)) }
        store.core.syncer.acknowledgeSynced(frame) { finish($0.map { result }) }
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
