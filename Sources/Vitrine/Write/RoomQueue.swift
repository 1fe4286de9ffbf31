/// Makes bodies, batches and large puts wait for room that other requests hold. A request sleeps until the end of a
/// body or a placement admits it, or for five seconds.
final class RoomQueue: StorePart {
  let context: StoreContext
  private let gate: WriteGate

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
  }

  /// The longest time for which a change waits for room that others hold.
  static let longestWaitMilliseconds = 5000

  /// Admits `byteCount` more bytes for a body. If the body must wait for others, the call sleeps if `waits` is true.
  /// Otherwise it returns the waiter, which is admitted when the call may be tried again.
  func admit(_ body: UnfinishedBody, _ byteCount: Int, waits: Bool) throws(StoreError) -> RoomWaiter? {
    while true {
      let waiter = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable()
        if held.state.unfinished.isAborted(body) { throw .aborted }
        return try held.state.admissions.admit(
          body, byteCount, held.state.index.segments, held.state.roomLimits,
          sleeper: waits ? ThreadContext.current.token : nil)
      }
      guard let waiter, waits else { return waiter }
      try wait(for: waiter)
    }
  }

  /// Takes back bytes that were admitted for a body and could not be allocated.
  func dismiss(_ body: UnfinishedBody, _ byteCount: Int) {
    commitLock.withLock { held in
      held.state.admissions.dismiss(body, byteCount)
      held.state.admitNext()
    }
  }

  /// Waits until records that take `byteCount` bytes of segments fit beside everything else in flight. Then runs the
  /// closure, which places and commits the records. During the wait, no entry is evicted for them.
  func placing<R>(_ byteCount: Int, _ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    let waiter = try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      return try held.state.admissions.beginPlacing(
        byteCount, held.state.index.segments, held.state.roomLimits)
    }
    if let waiter { try wait(for: waiter) }
    defer {
      commitLock.withLock { held in
        held.state.admissions.endPlacing(byteCount)
        held.state.admitNext()
      }
    }
    return try body()
  }

  /// Blocks until the waiter is admitted. Throws if it is refused.
  private func wait(for waiter: RoomWaiter) throws(StoreError) {
    let outcome =
      waiter.outcome(withinMilliseconds: RoomQueue.longestWaitMilliseconds, environment.clock)
      ?? withdraw(waiter, .refused(.noSpace))
    guard case .refused(let error) = outcome else { return }
    try gate.requireWritable()
    throw error
  }

  /// Suspends the task, without blocking a thread, until the waiter is admitted. Throws `CancellationError` if the task
  /// is cancelled first, and the error of a refusal.
  func wait(for waiter: RoomWaiter) async throws {
    let timer = Task.detached { [self] in
      try await environment.clock.suspend(milliseconds: RoomQueue.longestWaitMilliseconds)
      withdraw(waiter, .refused(.noSpace))
    }
    defer { timer.cancel() }
    let outcome = await withTaskCancellationHandler {
      await waiter.outcome()
    } onCancel: {
      withdraw(waiter, .cancelled)
    }
    switch outcome {
    case .admitted: return
    case .refused(let error):
      try gate.requireWritable()
      throw error
    case .cancelled: throw CancellationError()
    }
  }

  /// Ends a wait, unless it has ended already, and admits the requests behind it that fit. Returns the outcome in
  /// force.
  @discardableResult
  private func withdraw(_ waiter: RoomWaiter, _ outcome: RoomWaiter.Outcome) -> RoomWaiter.Outcome {
    commitLock.withLock { held in
      held.state.admissions.withdraw(waiter)
      let inForce = waiter.end(outcome)
      held.state.admitNext()
      return inForce
    }
  }

  /// Milliseconds between two looks at a borrow, at first and at most. A borrow ends without a signal, because a signal
  /// would cost every hit.
  private static let looks = (first: 2, longest: 128)

  /// Sleeps until other threads may have freed room. Throws `noSpace` if only the calling thread holds room, or if the
  /// waits have been too long. Called if there is no room, and under no lock.
  func waitForRoom(_ wait: inout RoomWait) throws(StoreError) {
    let now = environment.clock.monotonicNanoseconds()
    let end = wait.end ?? now &+ UInt64(RoomQueue.longestWaitMilliseconds) * 1_000_000
    wait.end = end
    guard now < end else { throw .noSpace }
    let since = wait.freeingCount
    guard let holders = othersWithRoom() else {
      // Others may have freed room since the refusal, for example by a removal of everything.
      if commitLock.withLock({ held in held.state.admissions.freeingCount != since }) { return }
      throw .noSpace
    }
    guard let waiter = commitLock.withLock({ held in held.state.admissions.lineUpRetry(since: since) }) else { return }
    var limit = Int((end - now + 999_999) / 1_000_000)
    if holders == .borrows {
      limit = min(limit, RoomQueue.looks.first << wait.lookCount, RoomQueue.looks.longest)
      wait.lookCount = min(wait.lookCount + 1, 16)
    }
    let outcome = waiter.outcome(withinMilliseconds: limit, environment.clock)
    if outcome == nil { commitLock.withLock { held in held.state.admissions.withdraw(waiter) } }
    if case .refused(let error)? = outcome { throw error }
  }

  private enum Holders { case inFlight, borrows }

  /// Returns the kind of holders for which a change may wait: borrows by other threads from retiring segments, or else
  /// requests in flight that other threads can end. Returns nil if there are neither.
  private func othersWithRoom() -> Holders? {
    let isInFlight = commitLock.withLock { held in !held.state.admissions.areOwn }
    return upkeepLock.withLock { upkeep in
      let isBorrowed = upkeep.state.retiring.areBorrowed(catalog.segments)
      return isBorrowed ? .borrows : isInFlight ? .inFlight : nil
    }
  }
}

/// The waits of one change that the ledger refuses.
struct RoomWait {
  /// When the waits must end, in nanoseconds by the monotonic clock; nil before the first wait.
  fileprivate var end: UInt64?
  fileprivate var lookCount = 0
  /// ``Admissions/freeingCount`` as it was before the change was refused.
  var freeingCount = 0
}
