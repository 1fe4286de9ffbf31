/// The time limit of a call. It begins with the call, and each transferred MiB extends it by the timeout.
struct CallLimit {
  private let begin = ContinuousClock.now
  private let timeoutMilliseconds: Int
  private var byteCount = 0

  init(timeoutMilliseconds: Int) { self.timeoutMilliseconds = timeoutMilliseconds }

  mutating func note(_ byteCount: Int) { self.byteCount += byteCount }

  /// The milliseconds that are left; 0 after the end.
  var leftMilliseconds: Int32 {
    let passed = (ContinuousClock.now - begin) / .milliseconds(1)
    let left = Double(timeoutMilliseconds) * (1 + Double(byteCount) / Double(1 << 20)) - passed
    return Int32(min(max(0, left.rounded(.up)), Double(Int32.max)))
  }
}

/// The failure of a request that got no whole answer.
struct Interruption: Error {
  let error: ClientError
  /// Whether the connection had ended before a byte of the answer was received.
  var isEnd = false
  /// Whether the server may have received a part of the request.
  var hasSent = true

  /// Whether the request can be sent once more: it changes nothing, or the server has received no part of it.
  func allowsRepeating(_ request: Request) -> Bool { isEnd && (request.isForReading || !hasSent) }
}
