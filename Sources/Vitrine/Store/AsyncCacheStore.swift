/// The calls of a store that may wait for the disk, as `async` functions: each runs on a thread of a small pool of the
/// library's own, so that the cooperative pool is never blocked. About 10 µs a call on top.
///
/// A call that has begun is not cancelled: its change happens whole.
public struct AsyncCacheStore: Sendable {
  let store: CacheStore

  /// Opens a store off the caller's executor.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions()
  ) async throws(StoreError) -> CacheStore {
    try await run { () throws(StoreError) in try CacheStore.open(at: path, options: options) }
  }

  /// A copy of an entry's bytes.
  public func bytes(for key: CacheKey, source: Source? = nil) async -> [UInt8]? {
    let result: Result<[UInt8]?, Never> = await BlockingPool.shared.run { .success(store.bytes(key, source: source)) }
    return result.get()
  }

  /// Calls `body` with an entry's bytes on a thread of the pool; nil when there is nothing.
  public func get<R: Sendable>(
    _ key: CacheKey, source: Source? = nil, _ body: @escaping @Sendable (RawSpan) -> R
  ) async -> R? {
    let result: Result<R?, Never> = await BlockingPool.shared.run { .success(store.get(key, source: source, body)) }
    return result.get()
  }

  public func put(
    _ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()
  ) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.put(bytes, for: key, options: options) }
  }

  public func write(_ batch: WriteBatch, durability: Durability? = nil) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.write(batch, durability: durability) }
  }

  @discardableResult
  public func remove(_ key: CacheKey, durability: Durability? = nil) async throws(StoreError) -> Bool {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.remove(key, durability: durability) }
  }

  @discardableResult
  public func removeMany(_ keys: [CacheKey], durability: Durability? = nil) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.removeMany(keys, durability: durability) }
  }

  public func removeAll(durability: Durability? = nil) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.removeAll(durability: durability) }
  }

  public func flush() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.flush() }
  }

  public func checkpoint() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.checkpoint() }
  }

  @discardableResult
  public func refresh() async throws(StoreError) -> Bool {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.refresh() }
  }

  public func verify() async throws(StoreError) -> VerificationReport {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.verify() }
  }

  public func close() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.close() }
  }

  static func run<R: Sendable>(
    _ body: @escaping @Sendable () throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let result: Result<R, StoreError> = await BlockingPool.shared.run {
      do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
