/// Whether a store can be used.
enum Standing {
  case open
  /// The error is that of the suspension, if it could not make all changes durable.
  case suspended(StoreError?)
  case closed

  /// Throws the error of a suspension that has failed.
  func requireDurable() throws(StoreError) {
    if case .suspended(let error?) = self { throw error }
  }
}

// For programs that the system may freeze while they hold a lock. iOS ends a program that is suspended with a locked
// file in a folder that it shares with others (exception 0xdead10cc).
extension CacheStore {
  /// Makes all changes durable and releases the store's lock, threads and files, until ``resume()``.
  ///
  /// Meanwhile other openings, also in other processes, may change the store. Gets are misses, ``lookup(_:source:)``
  /// returns `closed`, and changes throw `closed`, as after ``close()``. Running gets finish, and Blobs stay valid.
  /// Unfinished bodies and drawings end as `closed`. Takes as long as a close. Throws the errors of ``close()``; the
  /// store is suspended in any case, and a close of the suspended store throws the error again. A store that is
  /// suspended stays so; a read-only opening holds no lock and ignores the call. Throws `closed` after ``close()``.
  /// Thread-safe.
  public func suspend() throws(StoreError) {
    if isReadOnly { return }
    try succeeding.withLock { standing throws(StoreError) in
      switch standing {
      case .suspended: return
      case .closed: throw .closed
      case .open:
        do throws(StoreError) {
          standing = .suspended(nil)
          try core.upkeep.closer.close()
          if hasLost.exchange(false, ordering: .acquiringAndReleasing) { throw .storeRemoved }
        } catch {
          standing = .suspended(error)
          throw error
        }
      }
    }
  }

  /// Opens a suspended store again, with the changes that other openings have made meanwhile.
  ///
  /// Waits for the lock for at most ``StoreOptions/waitForLockMilliseconds``. The options that are saved in the store
  /// are taken from there, so changes of budgets at run time persist. If the store was deleted meanwhile and
  /// ``StoreOptions/createsIfMissing`` is true, the call creates it with the options of the first opening. Costs an
  /// opening. Each get costs a few nanoseconds more from then on. Throws the errors of ``open(at:options:)``; then the
  /// store stays suspended. Throws `closed` after ``close()``. Has no effect on a store that is open. Thread-safe.
  public func resume() throws(StoreError) {
    try succeeding.withLock { standing throws(StoreError) in
      switch standing {
      case .open: return
      case .closed: throw .closed
      case .suspended:
        let former = core
        let next = try reopen(former)
        former.context.events.move(to: next.context.events, opened: .opened(next.context.opening.lastOpen))
        succession.replace(former, by: next)
        hasSuccessor.store(true, ordering: .releasing)
        standing = .open
        former.upkeep.closer.dropEverything()
      }
    }
  }

  /// Whether the store is suspended.
  public var isSuspended: Bool {
    succeeding.withLock { standing in
      if case .suspended = standing { true } else { false }
    }
  }

  private func reopen(_ former: StoreCore) throws(StoreError) -> StoreCore {
    // The whole path, because the process may have changed its working directory.
    let path = former.context.folders.root.path
    do throws(StoreError) {
      var saved = options
      saved.takeSavedValues()
      saved.createsIfMissing = false
      return try StoreCore.open(at: path, options: saved, environment: former.context.environment)
    } catch {
      guard case .noSuchStore = error, options.createsIfMissing else { throw error }
      return try StoreCore.open(at: path, options: options, environment: former.context.environment)
    }
  }
}

extension StoreOptions {
  /// Drops the values that are saved in the store, so that an opening keeps the saved ones.
  mutating func takeSavedValues() {
    byteBudget = nil
    entryBudget = nil
    minimumFreeBytes = nil
    durability = nil
    segmentByteCount = nil
    compressionLevel = nil
    maximumAgeMilliseconds = nil
    maximumIdleMilliseconds = nil
    policy = nil
    styleBudgets = nil
  }
}

extension AsyncCacheStore {
  /// Makes all changes durable and releases the store's lock. Throws the errors of ``CacheStore/suspend()``.
  public func suspend() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.suspend() }
  }

  /// Opens a suspended store again. Throws the errors of ``CacheStore/resume()``.
  public func resume() async throws(StoreError) {
    try await AsyncCacheStore.run { () throws(StoreError) in try store.resume() }
  }
}
