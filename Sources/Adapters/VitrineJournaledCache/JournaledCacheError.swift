import Foundation

/// A mistake in the use of a journaled cache. Errors of the disk are `StoreError`.
public enum JournaledCacheError: Error, Sendable, Equatable {
  /// The key is not 1 to 120 characters of `a` to `z`, `0` to `9`, `_` and `-`.
  case invalidKey(String)
  /// An edit of a new entry has set no value with this number.
  case missingValue(index: Int)
  /// The edit was committed, aborted, or ended by the closing of the cache.
  case editEnded
  /// The cache is closed.
  case closed
}

extension JournaledCacheError: LocalizedError {
  /// A sentence about the error.
  public var errorDescription: String? {
    switch self {
    case .invalidKey(let key): "'\(key)' is not 1 to 120 characters of a-z, 0-9, _ and -."
    case .missingValue(let index): "A new entry needs all values, and value \(index) is not set."
    case .editEnded: "The edit has ended."
    case .closed: "The cache is closed."
    }
  }
}
