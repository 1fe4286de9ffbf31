import Synchronization
import Vitrine

/// A store with the conditional changes of memcached. Changes of one key run one after another.
///
/// Thread-safe.
final class ItemStore: Sendable {
  let store: CacheStore
  /// The largest value in bytes that clients may store.
  let largestValue: Int
  /// Whether clients may change nothing.
  let isReadOnly: Bool
  /// The budget of values that are collected in memory.
  let memory: MemoryBudget
  /// The budget of values that are sent from copies, and of passed values that clients hold. It is separate, so that
  /// slow readers do not keep others from storing values.
  let copies: MemoryBudget
  /// The budget of values that are written to the store while they arrive.
  let bodies: MemoryBudget
  /// Items that were fetched since they were stored.
  let marks = UseMarks()
  private let stripes: [Stripe]
  private let lastUnique: Atomic<UInt64>
  /// The time of a delayed `flush_all`, in milliseconds since 1970; `Int64.max` if there is none.
  private let flushMoment = Atomic<Int64>(.max)

  private final class Stripe: Sendable {
    let mutex = Mutex(())
  }

  private static let stripeCount = 256

  init(_ store: CacheStore, largestValue: Int, memoryByteCount: Int = 256 << 20, isReadOnly: Bool = false) {
    self.store = store
    self.isReadOnly = isReadOnly
    copies = MemoryBudget(memoryByteCount / 2)
    memory = MemoryBudget(memoryByteCount - memoryByteCount / 2)
    // Less than an eighth of the byte budget, beyond which the store lets bodies wait.
    bodies = MemoryBudget(store.byteBudget / 10)
    self.largestValue = largestValue
    stripes = (0..<ItemStore.stripeCount).map { _ in Stripe() }
    // Begins at the present time in microseconds. The server makes less than one change in a microsecond, so no number
    // is used again after a restart.
    lastUnique = Atomic(UInt64(max(1, Time.milliseconds())) * 1000)
  }

  /// Runs `body` under a lock of the key.
  func exclusively<R>(_ key: CacheKey, _ body: () -> R) -> R {
    stripes[key.hashValue & (ItemStore.stripeCount - 1)].mutex.withLock { _ in body() }
  }

  /// Returns a unique number.
  func takeUnique() -> UInt64 { lastUnique.wrappingAdd(1, ordering: .relaxed).newValue }

  // MARK: Reading

  /// Returns the item of a key. Counts as a use.
  func item(_ key: CacheKey) -> Item? { store.blob(key).map(Item.init) }

  /// Returns the item of a key, and sets its expiry.
  func item(_ key: CacheKey, touching expiry: ExpiryTime) -> Item? {
    exclusively(key) {
      guard let item = item(key), case .stored = touchWithin(key, expiry) else { return nil }
      return item
    }
  }

  /// Takes the memory of a value that is sent from a copy. Returns nil if the budget has too little left.
  func share(of blob: Blob) -> MemoryShare? { blob.isCopy ? copies.take(blob.byteCount) : MemoryShare.empty }

  /// Returns the properties of an item. Does not count as a use.
  func properties(_ key: CacheKey) -> ItemProperties? {
    guard case .found(let info) = store.lookup(key) else { return nil }
    return ItemProperties(info)
  }

  // MARK: Changing

  /// Deletes an item. If `unique` is not nil, deletes only an item with this unique number.
  func delete(_ key: CacheKey, unique: UInt64? = nil) -> StorageOutcome {
    exclusively(key) {
      if let unique {
        guard let properties = properties(key) else { return .notFound }
        guard properties.record.unique == unique else { return .exists }
      }
      return outcome { () throws(StoreError) in try store.remove(key) ? .stored(0) : .notFound }
    }
  }

  /// Sets the expiry of an item. Returns `notFound` if there is no item.
  func touch(_ key: CacheKey, _ expiry: ExpiryTime) -> StorageOutcome {
    exclusively(key) { touchWithin(key, expiry) }
  }

  /// Sets the expiry of an item. Called within ``exclusively(_:_:)``.
  func touchWithin(_ key: CacheKey, _ expiry: ExpiryTime) -> StorageOutcome {
    outcome { () throws(StoreError) in
      let isFound = expiry == .past ? try store.remove(key) : try store.setExpiration(expiry.milliseconds, for: key)
      return isFound ? .stored(0) : .notFound
    }
  }

  /// Replaces the properties of an item. Called within ``exclusively(_:_:)``.
  func set(_ record: ItemRecord, _ key: CacheKey) -> StorageOutcome {
    outcome { () throws(StoreError) in
      try store.setMetadata(record.metadata, for: key) ? .stored(record.unique) : .notFound
    }
  }

  /// Runs a change, and returns its error as an outcome.
  func outcome(_ change: () throws(StoreError) -> StorageOutcome) -> StorageOutcome {
    if isReadOnly { return .failed(.readOnly) }
    do throws(StoreError) { return try change() } catch { return .failed(error) }
  }

  /// Applies a change. The item keeps its flags. It keeps its expiry unless the change has one.
  func apply(_ change: Arithmetic, _ key: CacheKey) -> (StorageOutcome, Arithmetic.Result?) {
    var result: Arithmetic.Result?
    let outcome = exclusively(key) { () -> StorageOutcome in
      self.outcome { () throws(StoreError) -> StorageOutcome in
        guard let item = item(key) else {
          guard let expiry = change.vivified else { return .notFound }
          let record = ItemRecord(unique: takeUnique())
          let options = PutOptions(metadata: record.metadata, expirationMilliseconds: expiry.milliseconds)
          let initial = change.initial
          // An item that only cannot be read now must not be replaced.
          if expiry != .past, try !store.put(Array(String(initial).utf8), for: key, if: .absent, options: options) {
            return .notStored
          }
          result = Arithmetic.Result(
            number: initial, unique: record.unique, expirationMilliseconds: options.expirationMilliseconds)
          return .stored(record.unique)
        }
        if let unique = change.unique, item.record.unique != unique { return .exists }
        guard let number = Arithmetic.number(item.blob) else { return .notANumber }
        var record = item.record
        record.unique = takeUnique()
        guard var options = keptOptions(key, record) else { return .notFound }
        if let expiry = change.expiry {
          options.expirationMilliseconds = expiry.milliseconds
          options.slidingExpirationMilliseconds = nil
        }
        result = try put(change.apply(to: number), record, options, isPast: change.expiry == .past, key)
        return .stored(record.unique)
      }
    }
    return (outcome, result)
  }

  private func put(
    _ number: UInt64, _ record: ItemRecord, _ options: PutOptions, isPast: Bool, _ key: CacheKey
  ) throws(StoreError) -> Arithmetic.Result {
    if isPast {
      try store.remove(key)
    } else {
      try store.put(Array(String(number).utf8), for: key, options: options)
    }
    return Arithmetic.Result(
      number: number, unique: record.unique, expirationMilliseconds: options.expirationMilliseconds)
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

  /// Schedules the removal of all items at a time, in milliseconds since 1970. Replaces an earlier schedule.
  func flush(at moment: Int64) { flushMoment.store(moment, ordering: .relaxed) }

  /// Removes all items if the time given to ``flush(at:)`` has passed. Called before each request.
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
  /// The change was made. The item has this unique number, or 0 if the change returns none.
  case stored(UInt64)
  /// The condition of the change does not hold.
  case notStored
  /// The item has another unique number than the request names.
  case exists
  case notFound
  /// The value of the item is not a number, so it cannot be incremented or decremented.
  case notANumber
  case failed(StoreError)
}
