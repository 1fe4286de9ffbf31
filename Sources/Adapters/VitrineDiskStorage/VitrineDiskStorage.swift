import Foundation
import Vitrine
import VitrineFoundation

/// A disk storage of data with the calls and rules of Kingfisher's disk storage: each value has an expiry, which reads
/// may extend.
///
/// Values are entries of a `CacheStore` under their keys in the style `original`. Changes throw `StoreError`.
/// They survive the death of the process; a loss of power may take those of the last second. Thread-safe.
public final class VitrineDiskStorage: Sendable {
  /// The expiry of values that choose none: 7 days.
  public static let defaultExpiration = StorageExpiration.days(7)

  /// The store with the values.
  public let cacheStore: CacheStore
  /// The expiry of values that are stored without one.
  public let expiration: StorageExpiration
  /// The size in bytes above which ``removeSizeExceededValues()`` removes values; 0 for no limit.
  public let sizeLimit: Int
  private let now: @Sendable () -> Date
  /// Number of changes of expiries and values. The lock is held during a change, so that no extension meets a newer
  /// value.
  private let changing = Guarded(0)

  /// Opens the storage in a folder, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - path: The folder. Its parent must exist.
  ///   - sizeLimit: The largest size of the folder, in bytes, at least 1 MiB; 0 for the default budget of a store.
  ///   - expiration: The expiry of values that are stored without one.
  ///
  /// Takes as long as the opening of a store. Throws the errors of `CacheStore.open(at:options:)`, as `StoreError`. If
  /// the folder is deleted while the storage is open, the next change creates it again.
  public convenience init(
    path: String, sizeLimit: Int = 0, expiration: StorageExpiration = defaultExpiration
  ) throws {
    let options = StoreOptions(
      byteBudget: sizeLimit == 0 ? nil : sizeLimit, policy: .lru, recreatesIfRemoved: true)
    self.init(
      store: try CacheStore.open(at: path, options: options), sizeLimit: sizeLimit, expiration: expiration)
  }

  /// Makes a storage over an open store. ``removeAll()`` removes all its entries, those of other styles included. O(1).
  public convenience init(
    store: CacheStore, sizeLimit: Int = 0, expiration: StorageExpiration = defaultExpiration
  ) {
    self.init(store: store, sizeLimit: sizeLimit, expiration: expiration) { Date() }
  }

  /// Makes a storage with a clock of its own, which must be that of the store. For tests.
  package init(
    store: CacheStore, sizeLimit: Int, expiration: StorageExpiration, now: @escaping @Sendable () -> Date
  ) {
    cacheStore = store
    self.sizeLimit = sizeLimit
    self.expiration = expiration
    self.now = now
  }

  // MARK: Storing and reading

  /// Stores a value. A value that has expired already is not stored, and the older value of the key stays.
  ///
  /// Takes about as long as a put. Throws the errors of `CacheStore.put(_:for:options:)`; then the older value stays.
  public func store(
    value: Data, forKey key: String, expiration: StorageExpiration? = nil
  ) throws(StoreError) {
    let expiration = expiration ?? self.expiration
    let now = now()
    let expires = expiration.expiration(from: now)
    // Also true for a date that is not a number.
    if let expires, !(expires > now) { return }
    let options = PutOptions(
      metadata: CacheTime(from: now, to: expires).bytes, expirationMilliseconds: expires?.milliseconds)
    try changing.withLock { count throws(StoreError) in
      count += 1
      try cacheStore.put(value, for: key, options: options)
    }
  }

  /// Returns a copy of a value, or nil if there is none or it has expired. Extends its expiry as `extending` says.
  ///
  /// Costs a get and a copy. An extension writes a small record, unless it would move the expiry by less than a second.
  /// If the store refuses the extension, the value is returned all the same and keeps its expiry.
  public func value(
    forKey key: String, extendingExpiration extending: ExpirationExtending = .cacheTime
  ) -> Data? {
    // A Blob has the expiry and the metadata of the very value.
    guard let blob = cacheStore.blob(key) else { return nil }
    let data = blob.data
    try? changing.withLock { count throws(StoreError) in
      // A value that was stored meanwhile has an expiry of its own.
      guard case .found(let entry) = cacheStore.lookup(key), entry.digest == blob.digest,
        entry.writtenMilliseconds == blob.writtenMilliseconds
      else { return }
      count += 1
      try extend(key, blob.expiration, CacheTime(blob.metadata), extending)
    }
    return data
  }

  private func extend(
    _ key: String, _ old: Date?, _ cacheTime: CacheTime?, _ extending: ExpirationExtending
  ) throws(StoreError) {
    let now = now()
    let new: Date?
    switch extending {
    case .none: return
    case .cacheTime:
      guard let old, let seconds = cacheTime?.seconds else { return }
      new = max(old, now.addingTimeInterval(seconds))
    case .expirationTime(.expired):
      try cacheStore.remove(key)
      return
    case .expirationTime(let expiration): new = expiration.expiration(from: now)
    }
    if let old, let new, abs(new.timeIntervalSince(old)) < 1 { return }
    if old == nil && new == nil { return }
    try cacheStore.setExpiration(new, for: CacheKey(key))
  }

  /// Whether a key has a value that has not expired. Reads no value.
  public func isCached(forKey key: String) -> Bool { cacheStore.contains(key) }

  /// Whether a key has a value that will not have expired at a date. The first call for a value since opening reads the
  /// value, to check it.
  public func isCached(forKey key: String, referenceDate: Date) -> Bool {
    guard case .found(let entry) = cacheStore.lookup(key) else { return false }
    return entry.expiration.map { $0 > referenceDate } ?? true
  }

  // MARK: Removing

  /// Removes a value. A key without a value is not an error. Throws the errors of
  /// `CacheStore.remove(_:durability:erases:)`.
  public func remove(forKey key: String) throws(StoreError) { try cacheStore.remove(key) }

  /// Removes a value if it has expired. Returns whether it had expired. Such a value is never returned, so this call
  /// only frees its room.
  @discardableResult
  public func removeIfExpired(forKey key: String) throws(StoreError) -> Bool {
    guard case .expired = cacheStore.lookup(key) else { return false }
    try cacheStore.remove(key)
    return true
  }

  /// Removes all expired values. Returns the number of values removed. Throws the errors of
  /// `CacheStore.removeExpired()`.
  @discardableResult
  public func removeExpiredValues() throws(StoreError) -> Int { try cacheStore.removeExpired() }

  /// If the storage is larger than ``sizeLimit``, removes the least recently used values until it has half of that
  /// size. Returns the number of values removed. Throws the errors of `CacheStore.trim(toBytes:)`.
  ///
  /// A storage that was opened by its path never exceeds the limit. The call is useful over a store with a larger
  /// budget.
  @discardableResult
  public func removeSizeExceededValues() throws(StoreError) -> Int {
    guard sizeLimit > 0, totalSize() > sizeLimit else { return 0 }
    return try cacheStore.trim(toBytes: sizeLimit / 2)
  }

  /// Removes all values. Throws the errors of `CacheStore.removeAll(durability:)`.
  public func removeAll() throws(StoreError) { try cacheStore.removeAll() }

  /// Bytes that the folder takes of the disk. O(segments).
  public func totalSize() -> Int { cacheStore.statistics().bytesOnDisk }
}

/// The time from the put of a value to its expiry, kept in the metadata: a byte 1, and 8 bytes with the milliseconds,
/// little-endian. Empty metadata stand for a value that does not expire.
struct CacheTime {
  private static let version: UInt8 = 1
  let milliseconds: Int64?

  var seconds: TimeInterval? { milliseconds.map { Double($0) / 1000 } }

  init(from start: Date, to end: Date?) {
    milliseconds = end.map { Int64(clamping: $0.milliseconds.subtractingSaturated(start.milliseconds)) }
  }

  /// Reads metadata. Returns nil if they are not from this storage.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 9, bytes[0] == CacheTime.version else { return nil }
    let value = bytes[1...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let milliseconds = Int64(exactly: value) else { return nil }
    self.milliseconds = milliseconds
  }

  var bytes: [UInt8] {
    guard let milliseconds, milliseconds >= 0 else { return [] }
    return [CacheTime.version] + withUnsafeBytes(of: milliseconds.littleEndian) { Array($0) }
  }
}

extension Int64 {
  fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (self < 0 ? .min : .max) : difference
  }
}
