/// The calls of a ``BodyWriter`` as `async` functions, on threads of the library's own; a call that waits for room holds
/// none of them. One call at a time: await each before the next.
public struct AsyncBodyWriter: Sendable {
  let writer: BodyWriter

  /// As ``BodyWriter/write(_:)-([UInt8])``. Throws `CancellationError` when the task is cancelled while it waits for room;
  /// the piece was not written then.
  public func write(_ bytes: [UInt8]) async throws {
    try await AsyncCacheStore.patiently(writer.core) {
      try bytes.withUnsafeBytes { try writer.write($0, waits: false) }.map { .waits($0) } ?? .done(())
    }
  }

  /// As ``BodyWriter/commit()``.
  public func commit() async throws(StoreError) {
    try await AsyncCacheStore.change(writer.store) { () throws(StoreError) in try writer.commit() }
  }

  /// As ``BodyWriter/abandon()``.
  public func abandon() async {
    let result: Result<Void, Never> = await BlockingPool.shared.run { .success(writer.abandon()) }
    result.get()
  }
}

extension AsyncCacheStore {
  /// As ``CacheStore/writer(for:length:options:)``, for a body whose calls come from any thread.
  public func writer(
    for key: CacheKey, length: Int? = nil, options: PutOptions = PutOptions()
  ) throws(StoreError) -> AsyncBodyWriter {
    try store.writer(for: key, length: length, options: options, isAnybodys: true).asynchronous
  }
}
