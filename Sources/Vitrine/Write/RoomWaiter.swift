/// A request that waits for room held by other requests. It sleeps until it is admitted or refused: a thread on a
/// condition, a task on a continuation. Neither does any work meanwhile.
///
/// It has one outcome, which never changes. Its lock is taken after the store's commit lock.
final class RoomWaiter: Sendable {
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
    /// Bodies that hold room, or whose threads hold room that other requests may need.
    case holders
    case placements
    /// Changes that the ledger has refused. They need no admission, or have it already.
    case retries
  }

  let byteCount: Int
  /// The body that waits; nil for a placement and for a retry.
  let body: UnfinishedBody?
  /// The thread that sleeps, and so cannot end anything itself; nil for a task.
  let thread: ThreadContext.Token?
  let line: Line
  /// Its number in the line.
  let number: UInt64
  private let state = Monitored(State())

  private struct State {
    var outcome: Outcome?
    var continuation: CheckedContinuation<Outcome, Never>?
  }

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
    let (inForce, continuation) = state.withLock { held in
      let inForce = held.value.outcome ?? outcome
      held.value.outcome = inForce
      defer { held.value.continuation = nil }
      held.signalAll()
      return (inForce, held.value.continuation)
    }
    continuation?.resume(returning: inForce)
    return inForce
  }

  /// Waits for the outcome. Returns nil if there is none within the limit.
  func outcome(withinMilliseconds limit: Int, _ clock: any Clock) -> Outcome? {
    let end = clock.monotonicNanoseconds() &+ UInt64(limit) * 1_000_000
    return state.withLock { held in
      while held.value.outcome == nil {
        let now = clock.monotonicNanoseconds()
        if now >= end { return nil }
        held.wait(by: clock, milliseconds: Int((end - now + 999_999) / 1_000_000))
      }
      return held.value.outcome
    }
  }

  func outcome() async -> Outcome {
    await withCheckedContinuation { continuation in
      let outcome = state.withLock { held in
        if held.value.outcome == nil { held.value.continuation = continuation }
        return held.value.outcome
      }
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
