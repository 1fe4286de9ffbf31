/// The `exptime` of a request. As with memcached, it is a full second: a value that may stay for one second expires with the
/// next full second of the clock.
enum ExpiryTime: Equatable {
  case never
  /// Milliseconds since 1970.
  case at(Int64)
  /// The value is expired as soon as it is stored.
  case past

  /// A number of seconds up to this one counts from now, a larger one since 1970.
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

  /// The form in which a store has it. Nil also for a moment in the past.
  var milliseconds: Int64? { if case .at(let moment) = self { moment } else { nil } }
}
