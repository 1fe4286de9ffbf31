/// The requests of a connection: the number of their steps, and the kind of the one whose value is arriving.
struct RequestProgress {
  /// The number of complete request lines and complete values.
  private(set) var stepCount = 0
  /// The request whose value is arriving.
  private var arriving = RequestKind.memcachedSet
  /// The request that the latest step has completed.
  private var completed: RequestKind?

  /// Notes a request line. The request is complete unless its value follows.
  mutating func noteLine(_ kind: RequestKind, awaitsValue: Bool) {
    stepCount += 1
    if awaitsValue { arriving = kind } else { completed = kind }
  }

  /// Notes that the value of the latest request has arrived.
  mutating func noteValue() {
    stepCount += 1
    completed = arriving
  }

  /// Returns the request that the latest step has completed, once.
  mutating func takeCompleted() -> RequestKind? {
    defer { completed = nil }
    return completed
  }
}
