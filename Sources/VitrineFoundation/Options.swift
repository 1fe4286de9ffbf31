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

  /// The time from which gets no longer return the entry; nil for never.
  public var expiration: Date? {
    get { expirationMilliseconds.map(Date.init(milliseconds:)) }
    set { expirationMilliseconds = newValue?.milliseconds }
  }
}
