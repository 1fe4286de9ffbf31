/// A ``BodyWriter`` with `async` calls, which run on threads of the library's pool. A call that waits for room holds no
/// thread. Await each call before the next one.
public struct AsyncBodyWriter: Sendable {
  let writer: BodyWriter

  /// The `async` form of ``BodyWriter/write(_:)-([UInt8])``. Throws the errors of the sync form. Throws
  /// `CancellationError` if the task is cancelled while the call waits for room. Then the piece is not written, and the
  /// writer can still be used.
  public func write(_ bytes: [UInt8]) async throws {
    try await AsyncCacheStore.patiently(writer.core) {
      try bytes.withUnsafeBytes { try writer.write($0, waits: false) }.map { .waits($0) } ?? .done(())
    }
  }

  /// The `async` form of ``BodyWriter/commit()``. Throws the errors of the sync form.
  public func commit() async throws(StoreError) {
    try await AsyncCacheStore.change(writer.store) { () throws(StoreError) in try writer.commit() }
  }

  /// The `async` form of ``BodyWriter/abandon()``.
  public func abandon() async {
    let result: Result<Void, Never> = await BlockingPool.shared.run { .success(writer.abandon()) }
    result.get()
  }
}

extension AsyncCacheStore {
  /// The `async` form of ``CacheStore/writer(for:length:options:)``. Calls of the writer may come from any thread.
  /// O(1). Throws the errors of the sync form.
  public func writer(
    for key: CacheKey, length: Int? = nil, options: PutOptions = PutOptions()
  ) throws(StoreError) -> AsyncBodyWriter {
    try store.writer(for: key, length: length, options: options, isTiedToThread: false).asynchronous
  }
}
