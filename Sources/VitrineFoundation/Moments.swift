import Foundation
import Vitrine

// Conversions between Foundation's times and the milliseconds of a store. None of them traps: a value beyond the range
// of the other type becomes the limit of that range.

extension Date {
  /// The moment that lies this many milliseconds after 1970 began.
  package init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Milliseconds since 1970, rounded to the nearest. A date that is not a number counts as 1970.
  package var milliseconds: Int64 {
    let value = (timeIntervalSince1970 * 1000).rounded()
    if value.isNaN { return 0 }
    return Int64(exactly: value) ?? (value < 0 ? .min : .max)
  }
}

extension EntryInfo {
  /// The time of the put.
  public var written: Date { Date(milliseconds: writtenMilliseconds) }
  /// The time at which the entry expires; nil if never, or if its expiry depends on its last use.
  public var expiration: Date? { expirationMilliseconds.map(Date.init(milliseconds:)) }
  /// The time of the last use, with the accuracy of `lastUsedMilliseconds`; nil if the policy records no use.
  public var lastUsed: Date? { lastUsedMilliseconds.map(Date.init(milliseconds:)) }
}

extension Blob {
  /// The time of the entry's put.
  public var written: Date { Date(milliseconds: writtenMilliseconds) }
  /// The time at which the entry expires; nil if never, or if its expiry depends on its last use. The Blob itself does
  /// not expire.
  public var expiration: Date? { expirationMilliseconds.map(Date.init(milliseconds:)) }
}

extension CacheStore {
  /// Replaces an entry's expiry; nil for never. Returns false if there is no entry. Costs as much as the call with
  /// milliseconds, and throws the same errors.
  @discardableResult
  public func setExpiration(
    _ date: Date?, for key: CacheKey, durability: Durability? = nil
  ) throws(StoreError) -> Bool {
    try setExpiration(date?.milliseconds, for: key, durability: durability)
  }

  /// Removes all entries, except pinned ones, that were neither put nor read since `date`. Returns the number of
  /// entries removed. Costs as much as the call with milliseconds, and throws the same errors.
  @discardableResult
  public func removeUnused(since date: Date) throws(StoreError) -> Int {
    try removeUnused(since: date.milliseconds)
  }
}

extension AsyncCacheStore {
  /// Replaces an entry's expiry; nil for never. Returns false if there is no entry. Throws the errors of the call with
  /// milliseconds.
  @discardableResult
  public func setExpiration(
    _ date: Date?, for key: CacheKey, durability: Durability? = nil
  ) async throws(StoreError) -> Bool {
    try await setExpiration(date?.milliseconds, for: key, durability: durability)
  }
}
