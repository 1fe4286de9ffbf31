import Foundation

/// The time after which a stored value expires.
public enum StorageExpiration: Sendable, Hashable {
  /// The value does not expire.
  case never
  /// The value expires this many seconds later.
  case seconds(TimeInterval)
  /// The value expires this many days of 86,400 seconds later.
  case days(Int)
  /// The value expires at a date.
  case date(Date)
  /// The value has expired already, and is not stored.
  case expired

  /// The date of the expiry, counted from `date`; nil for never.
  func expiration(from date: Date) -> Date? {
    switch self {
    case .never: nil
    case .seconds(let seconds): date.addingTimeInterval(seconds)
    case .days(let days): date.addingTimeInterval(Double(days) * 86_400)
    case .date(let date): date
    case .expired: .distantPast
    }
  }
}

/// The change that a read makes to the expiry of a value.
public enum ExpirationExtending: Sendable, Hashable {
  /// None.
  case none
  /// The value expires as long after the read as it would have expired after its put.
  case cacheTime
  /// The value expires this long after the read. ``StorageExpiration/expired`` removes it after the read.
  case expirationTime(StorageExpiration)
}
