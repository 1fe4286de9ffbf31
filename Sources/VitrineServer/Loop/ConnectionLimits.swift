/// The limits of connections.
struct ConnectionLimits: Sendable {
  /// Nanoseconds in which a request must arrive, or queued answers must be sent.
  var stalledNanoseconds: UInt64
  /// Nanoseconds between two requests; nil for no limit.
  var idleNanoseconds: UInt64?
  /// The number of transferred bytes that extends this time by a second.
  static let bytesPerSecond: UInt64 = 4096
}
