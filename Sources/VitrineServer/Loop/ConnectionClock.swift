/// The progress of a client, and the time at which it is disconnected as stalled or idle. Each request and each wait
/// for the socket has its own deadline, which the transferred bytes extend. In nanoseconds of the monotonic clock.
struct ConnectionClock {
  /// The start of the present request or of the wait for the socket, and the bytes transferred since.
  private var begin: UInt64?
  private var byteCount: UInt64 = 0
  private var requestCount = 0
  /// Whether answers wait for the socket.
  private var isWaiting = false
  /// The end of the time in which a refused client may read its answer.
  private var drainEnd: UInt64?

  private static let drainNanoseconds: UInt64 = 2_000_000_000

  /// Whether the client has been refused, so that its end is no failure.
  var isDraining: Bool { drainEnd != nil }

  mutating func noteTransfer(_ byteCount: Int) { self.byteCount += UInt64(byteCount) }

  /// Notes whether answers wait for the socket.
  mutating func noteSending(isBlocked: Bool) {
    // A wait for the socket has its own deadline.
    if isBlocked != isWaiting { begin = nil }
    isWaiting = isBlocked
  }

  /// The client is refused, and gets some time to read its answer.
  mutating func drain() { drainEnd = Time.monotonicNanoseconds() + ConnectionClock.drainNanoseconds }

  /// Returns the time at which the connection ends unless it makes progress; nil for never. `hasInput` tells whether
  /// received bytes wait for the rest of a request.
  mutating func deadline(_ session: any Session, hasInput: Bool, _ limits: ConnectionLimits) -> UInt64? {
    if let drainEnd { return drainEnd }
    if session.requestCount != requestCount {
      requestCount = session.requestCount
      if !isWaiting { begin = nil }
    }
    guard isWaiting || session.isWithinRequest || hasInput else {
      begin = nil
      return session.idleNanoseconds(limits.idleNanoseconds).map { Time.monotonicNanoseconds() + $0 }
    }
    let start = begin ?? Time.monotonicNanoseconds()
    if begin == nil { (begin, byteCount) = (start, 0) }
    return start + limits.stalledNanoseconds + byteCount / ConnectionLimits.bytesPerSecond * 1_000_000_000
  }
}
