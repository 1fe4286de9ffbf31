import Synchronization
import Vitrine

/// A store with the conditional changes of cache protocols. Changes of one key are made one after another.
///
/// Thread-safe.
final class ItemStore: Sendable {
  let store: CacheStore
  /// The longest value that clients may store.
  let largestValue: Int
  /// The memory of values that are collected, or sent from copies.
  let memory: MemoryBudget
  /// The bytes of values that go to the store while they arrive.
  let bodies: MemoryBudget
  /// Items that were fetched since they were stored.
  let marks = UseMarks()
  private let stripes: [Stripe]
  private let lastUnique: Atomic<UInt64>
  /// The moment of a delayed `flush_all`, in milliseconds since 1970; `Int64.max` if there is none.
  private let flushMoment = Atomic<Int64>(.max)

  private final class Stripe: Sendable {
    let mutex = Mutex(())
  }

  private static let stripeCount = 256

  init(_ store: CacheStore, largestValue: Int, memoryByteCount: Int = 256 << 20) {
    self.store = store
    memory = MemoryBudget(memoryByteCount)
    // Below the eighth of the budget at which the store lets values wait.
    bodies = MemoryBudget(store.byteBudget / 10)
    self.largestValue = largestValue
    stripes = (0..<ItemStore.stripeCount).map { _ in Stripe() }
    // Numbers rise by one for each change, and time by more: a number is not used again after a restart.
    lastUnique = Atomic(UInt64(max(1, Time.milliseconds())) * 1000)
  }

  /// Runs `body` while no other thread does so for the key.
  func exclusively<R>(_ key: CacheKey, _ body: () -> R) -> R {
    stripes[key.hashValue & (ItemStore.stripeCount - 1)].mutex.withLock { _ in body() }
  }

  /// Returns a number that no other change has.
  func takeUnique() -> UInt64 { lastUnique.wrappingAdd(1, ordering: .relaxed).newValue }

  // MARK: Reading

  /// Returns the item of a key. Counts as a use.
  func item(_ key: CacheKey) -> Item? { store.blob(key).map(Item.init) }

  /// Returns the item of a key, and gives it another expiry.
  func item(_ key: CacheKey, touching expiry: ExpiryTime) -> Item? {
    exclusively(key) {
      guard let item = item(key), case .stored = touchWithin(key, expiry) else { return nil }
      return item
    }
  }

  /// Returns a share of the memory that a value takes while it is sent. Nil if too much is in use.
  func share(of blob: Blob) -> MemoryShare? { blob.isCopy ? memory.take(blob.byteCount) : MemoryShare.empty }

  /// Returns the properties of an item, without a use.
  func properties(_ key: CacheKey) -> ItemProperties? {
    guard case .found(let info) = store.lookup(key) else { return nil }
    return ItemProperties(info)
  }

  // MARK: Changing

  /// Deletes an item. With `unique`, only if the item has this number.
  func delete(_ key: CacheKey, unique: UInt64? = nil) -> StorageOutcome {
    exclusively(key) {
      if let unique {
        guard let properties = properties(key) else { return .notFound }
        guard properties.record.unique == unique else { return .exists }
      }
      return outcome { () throws(StoreError) in try store.remove(key) ? .stored(0) : .notFound }
    }
  }

  /// Gives an item another expiry. Returns `notFound` if there is no item.
  func touch(_ key: CacheKey, _ expiry: ExpiryTime) -> StorageOutcome {
    exclusively(key) { touchWithin(key, expiry) }
  }

  /// Gives an item another expiry, within ``exclusively(_:_:)``.
  func touchWithin(_ key: CacheKey, _ expiry: ExpiryTime) -> StorageOutcome {
    outcome { () throws(StoreError) in
      let isFound = expiry == .past ? try store.remove(key) : try store.setExpiration(expiry.milliseconds, for: key)
      return isFound ? .stored(0) : .notFound
    }
  }

  /// Replaces the properties of an item, within ``exclusively(_:_:)``.
  func set(_ record: ItemRecord, _ key: CacheKey) -> StorageOutcome {
    outcome { () throws(StoreError) in
      try store.setMetadata(record.metadata, for: key) ? .stored(record.unique) : .notFound
    }
  }

  /// Makes a change, and turns its error into an outcome.
  func outcome(_ change: () throws(StoreError) -> StorageOutcome) -> StorageOutcome {
    do throws(StoreError) { return try change() } catch { return .failed(error) }
  }

  // MARK: Removing everything

  /// Removes all items now.
  func flush() -> StorageOutcome {
    flushMoment.store(.max, ordering: .relaxed)
    return outcome { () throws(StoreError) in
      try store.removeAll()
      return .stored(0)
    }
  }

  /// Removes all items at a moment, in milliseconds since 1970. Of two moments, the later call counts.
  func flush(at moment: Int64) { flushMoment.store(moment, ordering: .relaxed) }

  /// Removes all items if a moment given to ``flush(at:)`` has come. Called before each request.
  @inline(__always)
  func flushIfDue() {
    if flushMoment.load(ordering: .relaxed) != .max { flushIfPast() }
  }

  @inline(never)
  private func flushIfPast() {
    let moment = flushMoment.load(ordering: .relaxed)
    guard Time.milliseconds() >= moment,
      flushMoment.compareExchange(expected: moment, desired: .max, ordering: .relaxed).exchanged
    else { return }
    _ = flush()
  }
}

/// A value with its properties.
struct Item {
  let blob: Blob
  let record: ItemRecord

  init(_ blob: Blob) {
    self.blob = blob
    record = ItemRecord(metadata: blob.metadata, digest: blob.digest.low)
  }
}

/// The properties of an item without its value.
struct ItemProperties {
  let info: EntryInfo
  let record: ItemRecord

  init(_ info: EntryInfo) {
    self.info = info
    record = ItemRecord(metadata: info.metadata, digest: info.digest.low)
  }
}

/// The result of a change of an item.
enum StorageOutcome: Equatable {
  /// The change was made, and the item has this number.
  case stored(UInt64)
  /// The condition of the change does not hold.
  case notStored
  /// The item has another number than the request names.
  case exists
  case notFound
  /// The sum of an arithmetic change is computed from a value that is no number.
  case notANumber
  case failed(StoreError)
}
