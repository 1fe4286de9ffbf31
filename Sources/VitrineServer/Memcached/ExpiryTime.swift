/// The `exptime` of a request. As in memcached, items expire at full seconds: an item with `exptime` 1 expires at the
/// next full second of the clock.
enum ExpiryTime: Equatable {
  case never
  /// Milliseconds since 1970.
  case at(Int64)
  /// The item expires at once.
  case past

  /// The largest number of seconds that counts from now. A larger number counts from 1970.
  static let longestRelative: Int64 = 60 * 60 * 24 * 30

  /// `now` is in milliseconds since 1970.
  init(seconds: Int64, now: Int64) {
    if seconds == 0 {
      self = .never
    } else if seconds < 0 {
      self = .past
    } else if seconds <= ExpiryTime.longestRelative {
      self = .at((now / 1000 + seconds) * 1000)
    } else {
      let (moment, hasOverflowed) = seconds.multipliedReportingOverflow(by: 1000)
      self = hasOverflowed ? .never : moment <= now ? .past : .at(moment)
    }
  }

  /// The expiry of the store: milliseconds since 1970, or nil for never. Also nil for ``past``.
  var milliseconds: Int64? { if case .at(let moment) = self { moment } else { nil } }
}
