import Foundation
import Vitrine
import VitrineFoundation

/// A disk cache of data with the calls of Nuke's `DataCache`: reads are synchronous, and writes return at once.
///
/// A write is queued in memory and written to a `CacheStore` by a background thread soon after. Reads see
/// queued changes at once. A crash of the process loses the queued changes, as it does with Nuke's cache; ``flush()``
/// writes them. An error of the store is not reported: the key has no value then.
///
/// With Nuke, one line conforms to its protocol: `extension VitrineDataCache: DataCaching {}`. Thread-safe.
public final class VitrineDataCache: Sendable {
  /// The reaction to a value for which the queue has no room.
  public enum FullQueuePolicy: Sendable {
    /// The calling thread writes the oldest queued changes itself until there is room.
    case wait
    /// The value is not stored, and an older value of its key is removed. The call returns at once if the queue has
    /// room for the removal. Otherwise the calling thread writes the oldest queued changes itself until there is room.
    case dropNewest
  }

  /// The largest size of Nuke's cache by default, 150 MiB.
  public static let defaultSizeLimit = 150 << 20
  /// The limit of the queue by default, 16 MiB.
  public static let defaultQueueByteLimit = 16 << 20

  /// The store with the values. Its entries of the style `original` are the values of this cache.
  public let store: CacheStore
  private let queue: WriteQueue

  /// Opens the cache in a folder, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - path: The folder. Its parent must exist.
  ///   - sizeLimit: The largest size of the folder, in bytes, at least 1 MiB.
  ///   - timeToLive: The time after its put for which a value is returned; nil for no limit. Holds for older values
  ///     too.
  ///   - queueByteLimit: The largest sum of queued keys and values, in bytes, with 128 bytes for each change. An empty
  ///     queue takes a value of any size.
  ///   - whenFull: The reaction to a value for which the queue has no room.
  ///
  /// Takes as long as the opening of a store. Throws the errors of `CacheStore.open(at:options:)`, as `StoreError`. If
  /// the folder is deleted while the cache is open, the cache creates it again.
  public convenience init(
    path: String, sizeLimit: Int = defaultSizeLimit, timeToLive: Duration? = nil,
    queueByteLimit: Int = defaultQueueByteLimit, whenFull: FullQueuePolicy = .wait
  ) throws {
    var options = StoreOptions(byteBudget: sizeLimit, policy: .lru, recreatesIfRemoved: true)
    options.maximumAge = timeToLive ?? .zero
    self.init(
      store: try CacheStore.open(at: path, options: options), queueByteLimit: queueByteLimit, whenFull: whenFull)
  }

  /// Makes a cache over an open store, in O(1). ``removeAll()`` removes all entries of the store, those of other styles
  /// included.
  public convenience init(
    store: CacheStore, queueByteLimit: Int = defaultQueueByteLimit, whenFull: FullQueuePolicy = .wait
  ) {
    let thread = DispatchQueue(label: "vitrine.datacache")
    self.init(store: store, queueByteLimit: queueByteLimit, whenFull: whenFull) { work in
      thread.async { work() }
    }
  }

  /// Makes a cache whose background work runs through `executor`. For tests.
  package init(
    store: CacheStore, queueByteLimit: Int, whenFull: FullQueuePolicy,
    executor: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.store = store
    queue = WriteQueue(store, limit: queueByteLimit, policy: whenFull, executor: executor)
  }

  // MARK: Nuke's protocol

  /// Returns a copy of the value of a key, or nil if there is none. A queued value is returned without a copy. Takes
  /// microseconds, and waits for the disk only if the value is not in the memory of the system.
  public func cachedData(for key: String) -> Data? {
    switch queue.answer(for: CacheKey(key)) {
    case .value(let data): data
    case .removed: nil
    case .unknown: store.data(key)
    }
  }

  /// Whether a key has a value. Reads no value.
  public func containsData(for key: String) -> Bool {
    switch queue.answer(for: CacheKey(key)) {
    case .value: true
    case .removed: false
    case .unknown: store.contains(key)
    }
  }

  /// Queues a value. Takes microseconds and copies no bytes of the value, if the queue has room. Otherwise
  /// it follows the ``FullQueuePolicy``.
  public func storeData(_ data: Data, for key: String) { queue.add(CacheKey(key), data) }

  /// Queues a removal. If the queue is full, the call writes the oldest changes itself.
  public func removeData(for key: String) { queue.add(CacheKey(key), nil) }

  /// Drops all queued changes, and queues the removal of all entries of the store. Returns at once. Reads return
  /// nothing from here on, except values stored later.
  public func removeAll() { queue.clear() }

  /// The value of a key; nil if there is none. Set as ``storeData(_:for:)`` and ``removeData(for:)``.
  public subscript(key: String) -> Data? {
    get { cachedData(for: key) }
    set {
      if let newValue { storeData(newValue, for: key) } else { removeData(for: key) }
    }
  }

  // MARK: The queue and the store

  /// Writes all changes queued before the call, and returns when they are in the store. They then survive the death of
  /// the process. After a loss of power, those of the last second may be missing.
  public func flush() { queue.writeAll() }

  /// Writes the queued change of a key, and those queued before it.
  public func flush(for key: String) { queue.write(through: CacheKey(key)) }

  /// Removes expired values. Returns the number of values removed, or 0 after an error. The size needs no sweep: the
  /// store never exceeds its limit. O(1) if none has expired.
  @discardableResult
  public func sweep() -> Int { (try? store.removeExpired()) ?? 0 }

  /// Writes all queued changes, makes them durable and closes the store. Later calls find nothing in the store and
  /// write nothing to it. Throws the errors of `CacheStore.close()`.
  public func close() throws(StoreError) {
    flush()
    try store.close()
  }

  /// The largest size of the folder, in bytes.
  public var sizeLimit: Int { store.byteBudget }

  /// Changes the largest size of the folder, in bytes, and evicts values until it holds. Throws the errors of
  /// `CacheStore.setBudgets(byteBudget:entryBudget:minimumFreeBytes:)`.
  public func setSizeLimit(_ byteCount: Int) throws(StoreError) { try store.setBudgets(byteBudget: byteCount) }

  /// Number of values in the store. Queued changes do not count.
  public var totalCount: Int { store.count }

  /// Bytes of all values in the store. Queued changes do not count.
  public var totalSize: Int { store.statistics().logicalByteCount }

  /// Bytes that the folder takes of the disk.
  public var totalAllocatedSize: Int { store.statistics().bytesOnDisk }

  /// Bytes of the queued changes, counted as for the limit of the queue.
  public var queuedByteCount: Int { queue.byteCount }
}
