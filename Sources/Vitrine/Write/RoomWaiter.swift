/// A request for room that others hold. It sleeps until it is admitted or refused: a thread on a condition, a task on a
/// continuation. Neither does any work meanwhile.
///
/// It has one outcome, which never changes. The monitor guards it, and is locked after the store's commit lock.
///
/// Invariant: `outcome` and `continuation` are touched only with the monitor locked. The other fields never change.
final class RoomWaiter: @unchecked Sendable {
  enum Outcome: Sendable, Equatable {
    /// The bytes were admitted.
    case admitted
    case refused(StoreError)
    /// The task was cancelled.
    case cancelled
  }

  enum Line: Sendable {
    /// Bodies that hold no room yet, requested by threads that hold none.
    case bodies
    /// Bodies that hold room or whose threads do: other requests may be waiting for it.
    case holders
    case placements
    /// Changes that the ledger has refused. They need no admission, or have it already.
    case retries
  }

  let byteCount: Int
  /// The body that waits; nil for a placement.
  let body: UnfinishedBody?
  /// The thread that sleeps, and so cannot end anything itself; nil for a task.
  let thread: ThreadContext.Token?
  let line: Line
  /// Its number in the line.
  let number: UInt64
  private let monitor = Monitor()
  private var outcome: Outcome?
  private var continuation: CheckedContinuation<Outcome, Never>?

  init(_ number: UInt64, _ byteCount: Int, body: UnfinishedBody?, thread: ThreadContext.Token?, line: Line) {
    self.number = number
    self.byteCount = byteCount
    self.body = body
    self.thread = thread
    self.line = line
  }

  /// Ends the wait, and wakes the thread or the task. Returns the outcome in force: the earlier one if the wait had
  /// ended before, else `outcome`.
  @discardableResult
  func end(_ outcome: Outcome) -> Outcome {
    monitor.lock()
    let inForce = self.outcome ?? outcome
    self.outcome = inForce
    let continuation = continuation
    self.continuation = nil
    monitor.signalAll()
    monitor.unlock()
    continuation?.resume(returning: inForce)
    return inForce
  }

  /// Waits for the outcome. Returns nil if there is none within the limit.
  func outcome(withinMilliseconds limit: Int, _ clock: any Clock) -> Outcome? {
    let end = clock.monotonicNanoseconds() &+ UInt64(limit) * 1_000_000
    monitor.lock()
    defer { monitor.unlock() }
    while outcome == nil {
      let now = clock.monotonicNanoseconds()
      if now >= end { return nil }
      clock.wait(on: monitor, milliseconds: Int((end - now + 999_999) / 1_000_000))
    }
    return outcome
  }

  func outcome() async -> Outcome {
    await withCheckedContinuation { continuation in
      monitor.lock()
      let outcome = outcome
      if outcome == nil { self.continuation = continuation }
      monitor.unlock()
      if let outcome { continuation.resume(returning: outcome) }
    }
  }
}

/// The outcome of an attempt that must not block its thread.
enum RoomAttempt<R> {
  case done(R)
  /// Try again once this waiter is admitted.
  case waits(RoomWaiter)
}

extension RoomAttempt: Sendable where R: Sendable {}
