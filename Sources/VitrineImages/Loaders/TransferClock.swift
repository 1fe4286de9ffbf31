#if os(Linux)
  import Foundation

  /// The time limits of a transfer: of all its requests, and without any activity. In milliseconds of a monotonic
  /// clock.
  struct TransferClock {
    private let end: UInt64
    private let timeoutMilliseconds: UInt64
    /// The time of the latest activity; nil while the transfer waits for a free connection.
    private var lastActivity: UInt64?

    init(_ settings: CurlSettings) {
      end = TransferClock.now() + settings.mostMilliseconds
      timeoutMilliseconds = settings.timeoutMilliseconds
    }

    static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

    /// The time at which the transfer times out unless there is more activity.
    var deadline: UInt64 { min(end, lastActivity.map { $0 + timeoutMilliseconds } ?? .max) }

    /// A time before which the transfer does not time out, even if it gets a connection now.
    func earliestDeadline(_ now: UInt64) -> UInt64 { min(end, (lastActivity ?? now) + timeoutMilliseconds) }

    mutating func noteActivity() { lastActivity = TransferClock.now() }

    /// Begins a request. If libcurl reports the end of the wait for a connection, the wait does not count.
    mutating func begin(waitIsReported: Bool) { lastActivity = waitIsReported ? nil : TransferClock.now() }
  }
#endif
