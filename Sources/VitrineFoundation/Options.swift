import Foundation
import Vitrine

extension PutOptions {
  /// Makes options for an entry that expires at `date`. A date before 1970 or beyond the range of the store becomes the
  /// nearest that the store can keep.
  public init(expires date: Date, metadata: [UInt8] = [], durability: Durability? = nil) {
    self.init(metadata: metadata, expirationMilliseconds: date.milliseconds, durability: durability)
  }

  /// Makes options for an entry that expires `duration` after `now`.
  public init(
    expiresAfter duration: Duration, now: Date = Date(), metadata: [UInt8] = [], durability: Durability? = nil
  ) {
    self.init(
      metadata: metadata, expirationMilliseconds: now.milliseconds.milliseconds(after: duration),
      durability: durability)
  }

  /// Makes options for an entry that expires `duration` after its last use, rounded up to a millisecond. If the
  /// duration is not positive, the put throws `invalidArgument`.
  public init(expiresUnused duration: Duration, metadata: [UInt8] = [], durability: Durability? = nil) {
    self.init(metadata: metadata, durability: durability, slidingExpirationMilliseconds: duration.milliseconds)
  }

  /// The time from which gets no longer return the entry; nil for never.
  public var expiration: Date? {
    get { expirationMilliseconds.map(Date.init(milliseconds:)) }
    set { expirationMilliseconds = newValue?.milliseconds }
  }

  /// The time after its last use for which gets return the entry, rounded up to a millisecond; nil for no such limit.
  public var slidingExpiration: Duration? {
    get { slidingExpirationMilliseconds.map { .milliseconds($0) } }
    set { slidingExpirationMilliseconds = newValue?.milliseconds }
  }
}

extension StoreOptions {
  /// `maximumAgeMilliseconds` as a duration, rounded up to a millisecond; zero for no limit, nil to keep the stored
  /// value.
  public var maximumAge: Duration? {
    get { maximumAgeMilliseconds.map { .milliseconds($0) } }
    set { maximumAgeMilliseconds = newValue?.milliseconds }
  }

  /// `maximumIdleMilliseconds` as a duration, rounded up to a millisecond; zero for no limit, nil to keep the stored
  /// value.
  public var maximumIdle: Duration? {
    get { maximumIdleMilliseconds.map { .milliseconds($0) } }
    set { maximumIdleMilliseconds = newValue?.milliseconds }
  }

  /// `waitForLockMilliseconds` as a duration, rounded up to a millisecond.
  public var waitForLock: Duration {
    get { .milliseconds(waitForLockMilliseconds) }
    set { waitForLockMilliseconds = Int(clamping: newValue.milliseconds) }
  }
}
