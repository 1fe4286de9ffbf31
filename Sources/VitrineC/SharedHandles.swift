import Vitrine

/// Counts the handles of the stores that were opened by name. An opening by the same name returns the same store.
final class SharedHandles: Sendable {
  static let shared = SharedHandles()

  private let counts = Guarded<[ObjectIdentifier: Int]>([:])

  /// Opens a store by name, and counts the handle that the caller makes of it.
  func open(_ name: String, _ options: StoreOptions) throws(StoreError) -> CacheStore {
    // Under the lock, so that no close of the last handle comes between the opening and the count.
    try counts.withLock { counts throws(StoreError) in
      let store = try CacheStore.open(named: name, options: options)
      counts[ObjectIdentifier(store), default: 0] += 1
      return store
    }
  }

  /// Ends a handle. The last one closes the store. Any other makes all changes durable.
  func remove(_ store: CacheStore) throws(StoreError) {
    let isLast = try counts.withLock { counts throws(StoreError) in
      let left = (counts[ObjectIdentifier(store)] ?? 1) - 1
      counts[ObjectIdentifier(store)] = left > 0 ? left : nil
      if left == 0 { try store.close() }
      return left == 0
    }
    if !isLast, !store.isReadOnly, !store.isSuspended { try store.flush() }
  }
}
