import Synchronization

// What an app asks of the store as a whole, off the cooperative pool.
extension AsyncCacheStore {
  /// Makes everything acknowledged before it survive loss of power.
  public func flush() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.flush() }
  }

  /// Writes the index out, so that the next opening need not read the log.
  public func checkpoint() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.checkpoint() }
  }

  /// Brings a read-only store up to what the writer has stored by now; answers whether that was anything new.
  @discardableResult
  public func refresh() async throws(StoreError) -> Bool {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.refresh() }
  }

  /// Changes the budgets, and returns when they hold: a smaller one evicts and compacts first, which may take as long as
  /// copying a good part of the store.
  public func setBudgets(byteBudget: Int? = nil, entryBudget: Int? = nil) async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in
      try store.setBudgets(byteBudget: byteBudget, entryBudget: entryBudget)
    }
  }

  /// Removes every entry that has expired; returns how many.
  @discardableResult
  public func removeExpired() async throws(StoreError) -> Int {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.removeExpired() }
  }

  /// Makes the folder as small as it gets without giving up an entry. `progress` is called on a thread of the pool. Ends
  /// early, at the next segment's worth, when it answers false or the task is cancelled; the report says so.
  public func compact(
    progress: @escaping @Sendable (Int, Int) -> Bool = { _, _ in true }
  ) async throws(StoreError) -> CompactionReport {
    try await untilCancelled { goesOn throws(StoreError) in
      try store.compact { done, all in goesOn() && progress(done, all) }
    }
  }

  /// Does what upkeep would do bit by bit, until all of it is done, `goesOn` answers false (it is asked on a thread of the
  /// pool, after each segment's worth), or the task is cancelled. True when all is done.
  @discardableResult
  public func idle(while goesOn: @escaping @Sendable () -> Bool = { true }) async throws(StoreError) -> Bool {
    try await untilCancelled { isWanted throws(StoreError) in try store.idle { isWanted() && goesOn() } }
  }

  /// Reads every live byte and checks it. `progress` is called on a thread of the pool.
  public func verify(
    progress: (@Sendable (Int, Int) -> Void)? = nil
  ) async throws(StoreError) -> VerificationReport {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.verify(progress: progress) }
  }

  /// Builds the index anew from the segments alone (``CacheStore/repair(at:progress:)``). Reads every byte.
  public static func repair(
    at path: String, progress: (@Sendable (Int, Int) -> Void)? = nil
  ) async throws(StoreError) -> RepairReport {
    try await run { () throws(StoreError) in try CacheStore.repair(at: path, progress: progress) }
  }

  /// Runs `body` with a question that is answered no once the task is cancelled.
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

/// Whether a task has been cancelled, for those who do not run in it.
private final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  var hasCome: Bool { flag.load(ordering: .relaxed) }
  func come() { flag.store(true, ordering: .relaxed) }
}
