import Synchronization

// The calls that concern the whole store, off the cooperative pool.
extension AsyncCacheStore {
  /// Makes all changes acknowledged before the call durable. Throws the errors of ``CacheStore/flush()``.
  public func flush() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.flush() }
  }

  /// Makes the newest acknowledged change of one key durable. Returns false if the key has no entry. Throws the errors
  /// of ``CacheStore/flush(_:)``.
  @discardableResult
  public func flush(_ key: CacheKey) async throws(StoreError) -> Bool {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.flush(key) }
  }

  /// Writes a checkpoint of the index, so that the next opening need not read the log. Throws the errors of
  /// ``CacheStore/checkpoint()``.
  public func checkpoint() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.checkpoint() }
  }

  /// Moves a read-only store forward to the writer's present state. Returns whether there was any change. Throws the
  /// errors of ``CacheStore/refresh()``.
  @discardableResult
  public func refresh() async throws(StoreError) -> Bool {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.refresh() }
  }

  /// Changes the budgets and the minimum of free disk bytes; nil leaves each as it is. Returns when the store is within
  /// its budgets: a smaller budget evicts and compacts first, which may take as long as copying a large part of the
  /// store. Throws the errors of ``CacheStore/setBudgets(byteBudget:entryBudget:minimumFreeBytes:)``.
  public func setBudgets(
    byteBudget: Int? = nil, entryBudget: Int? = nil, minimumFreeBytes: Int? = nil
  ) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.setBudgets(byteBudget: byteBudget, entryBudget: entryBudget, minimumFreeBytes: minimumFreeBytes)
    }
  }

  /// Sets the budget of a style; nil removes it. Returns when the style is within its budget. Throws the errors of
  /// ``CacheStore/setStyleBudget(_:for:)``.
  public func setStyleBudget(_ budget: StyleBudget?, for style: Style) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.setStyleBudget(budget, for: style) }
  }

  /// Removes every expired entry. Returns the number of entries removed. Throws the errors of
  /// ``CacheStore/removeExpired()``.
  @discardableResult
  public func removeExpired() async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.removeExpired() }
  }

  /// Evicts entries until the folder takes at most `byteCount` bytes of the disk (``CacheStore/trim(toBytes:)``).
  /// Returns the number of entries removed, and throws the same errors.
  @discardableResult
  public func trim(toBytes byteCount: Int) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.trim(toBytes: byteCount) }
  }

  /// Evicts entries until at most `count` are left. Returns the number of entries removed. Throws the errors of
  /// ``CacheStore/trim(toEntries:)``.
  @discardableResult
  public func trim(toEntries count: Int) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.trim(toEntries: count) }
  }

  /// Removes all entries, except pinned ones, that were neither put nor read since `moment`, in milliseconds since
  /// 1970. Returns the number of entries removed. Throws the errors of ``CacheStore/removeUnused(since:)``.
  @discardableResult
  public func removeUnused(since moment: Int64) async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.removeUnused(since: moment) }
  }

  /// Makes the folder as small as possible without removing a live entry. `progress` runs on a thread of the pool.
  /// Compaction stops early, after a segment's worth of bytes, when `progress` returns false or the task is cancelled;
  /// the report says so. Throws the errors of ``CacheStore/compact(progress:)``.
  public func compact(
    progress: @escaping @Sendable (Int, Int) -> Bool = { _, _ in true }
  ) async throws(StoreError) -> CompactionReport {
    try await untilCancelled { goesOn throws(StoreError) in
      try store.compact { done, all in goesOn() && progress(done, all) }
    }
  }

  /// Does all pending upkeep. Stops early when the task is cancelled, or when `goesOn`, called on a thread of the pool
  /// after each segment's worth of bytes, returns false. Returns true when no upkeep is left. Throws the errors of
  /// ``CacheStore/idle(while:)``.
  @discardableResult
  public func idle(while goesOn: @escaping @Sendable () -> Bool = { true }) async throws(StoreError) -> Bool {
    try await untilCancelled { isWanted throws(StoreError) in try store.idle { isWanted() && goesOn() } }
  }

  /// Reads and checks every live byte. `progress` runs on a thread of the pool. Throws the errors of
  /// ``CacheStore/verify(progress:)``.
  public func verify(
    progress: (@Sendable (Int, Int) -> Void)? = nil
  ) async throws(StoreError) -> VerificationReport {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.verify(progress: progress) }
  }

  /// Rebuilds the index from the segments alone (``CacheStore/repair(at:progress:)``). Reads every byte, and throws the
  /// same errors.
  public static func repair(
    at path: String, progress: (@Sendable (Int, Int) -> Void)? = nil
  ) async throws(StoreError) -> RepairReport {
    try await run { () throws(StoreError) in try CacheStore.repair(at: path, progress: progress) }
  }

  /// Runs `body` with a function that returns false once the task is cancelled.
  private func untilCancelled<R: Sendable>(
    _ body: @escaping @Sendable (_ goesOn: () -> Bool) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let cancellation = Cancellation()
    let result = await withTaskCancellationHandler {
      await AsyncCacheStore.result { () throws(StoreError) in try body { !cancellation.hasCome } }
    } onCancel: {
      cancellation.come()
    }
    return try result.get()
  }
}

/// Whether a task has been cancelled, readable from threads that do not run the task.
private final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  var hasCome: Bool { flag.load(ordering: .relaxed) }
  func come() { flag.store(true, ordering: .relaxed) }
}
