/// A protocol on one connection: takes the bytes of requests, and queues answers. It knows no socket.
///
/// Used by one thread.
protocol Session: AnyObject {
  /// Processes whole requests until the input ends or the queue of answers is full. Returns the number of bytes that
  /// were taken. The caller passes the others again, with more behind them.
  func consume(_ input: UnsafeRawBufferPointer) -> Int

  /// Whether the connection ends when the queued answers were sent.
  var isEnding: Bool { get }

  /// Whether a request has arrived in part.
  var isWithinRequest: Bool { get }

  /// A count that rises with each request, and may rise again when the value of a request is complete. A rise restarts
  /// the time limit of a stalled client.
  var requestCount: Int { get }

  /// Whether the latest ``consume(_:)`` ended early, because other connections should get their turn.
  var hasYielded: Bool { get }

  /// Whether the client was refused: nothing more is sent to it, and the bytes that it sends are dropped.
  var isDraining: Bool { get }

  /// Whether the session waits for an answer that is made elsewhere. Until the connection is woken, nothing is read,
  /// and no time limit of the client applies.
  var isSuspended: Bool { get }

  /// The connection has ended, so nothing that the session waits for is needed.
  func connectionEnded()

  /// Returns the most nanoseconds between two requests, or nil for no limit. `limit` is the server's configured limit.
  func idleNanoseconds(_ limit: UInt64?) -> UInt64?
}

extension Session {
  var isDraining: Bool { false }
  var isSuspended: Bool { false }
  func connectionEnded() {}
  func idleNanoseconds(_ limit: UInt64?) -> UInt64? { limit }
}
