// How requests for room wait: asleep, until a body or a placement that ends admits them, or for five seconds.
extension StoreCore {
  /// How long a change waits for room that others hold.
  static let longestWaitMilliseconds = 5000

  /// Under the commit lock.
  private var roomLimits: Admissions.Limits { Admissions.Limits(bodies: ledger.budget / 8, all: roomBesideOpen) }

  /// Under the commit lock, after anything that may have given room back.
  func admitNext() {
    if admissions.waiterCount > 0 { admissions.admitNext(roomLimits) }
  }

  /// Enters `byteCount` more for a body. Where it must wait for others, it sleeps when it `waits`, and otherwise answers
  /// the waiter that tells when to try again.
  func admit(_ body: UnfinishedBody, _ byteCount: Int, waits: Bool) throws(StoreError) -> RoomWaiter? {
    while true {
      let waiter = try locked { () throws(StoreError) in
        try requireWritable()
        if body.isAborted { throw .aborted }
        return try admissions.admit(
          body, byteCount, roomLimits, sleeper: waits ? ThreadContext.current.token : nil)
      }
      guard let waiter, waits else { return waiter }
      try wait(for: waiter)
    }
  }

  /// Takes back bytes admitted for a body that could not be allocated.
  func dismiss(_ body: UnfinishedBody, _ byteCount: Int) {
    locked {
      admissions.dismiss(body, byteCount)
      admitNext()
    }
  }

  /// Runs `body`, which places records of so many bytes of segments and commits them, once they fit beside all else that
  /// is in flight. Until then nothing is evicted for them.
  func placing<R>(_ byteCount: Int, _ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    let waiter = try locked { () throws(StoreError) in
      try requireWritable()
      return try admissions.beginPlacing(byteCount, roomLimits)
    }
    if let waiter { try wait(for: waiter) }
    defer {
      locked {
        admissions.endPlacing(byteCount)
        admitNext()
      }
    }
    return try body()
  }

  /// Blocks until the waiter is admitted; throws when it is refused.
  private func wait(for waiter: RoomWaiter) throws(StoreError) {
    let outcome =
      waiter.outcome(withinMilliseconds: StoreCore.longestWaitMilliseconds, environment.clock)
      ?? withdraw(waiter, .refused(.noSpace))
    guard case .refused(let error) = outcome else { return }
    try requireWritable()
    throw error
  }

  /// The same for a task, on no thread. Throws `CancellationError` when the task is cancelled first.
  func wait(for waiter: RoomWaiter) async throws {
    let timer = Task.detached { [self] in
      try await environment.clock.suspend(milliseconds: StoreCore.longestWaitMilliseconds)
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
      try requireWritable()
      throw error
    case .cancelled: throw CancellationError()
    }
  }

  /// Ends a wait, unless it has ended already; answers how. Those behind it may be next.
  @discardableResult
  private func withdraw(_ waiter: RoomWaiter, _ outcome: RoomWaiter.Outcome) -> RoomWaiter.Outcome {
    locked {
      admissions.withdraw(waiter)
      let inForce = waiter.end(outcome)
      admitNext()
      return inForce
    }
  }

  /// Called where there is no room: waits a moment for other threads to end, or throws `noSpace` if only the calling
  /// thread holds room, or if the wait has been too long. Under no lock.
  func waitForRoom(_ waited: inout Int) throws(StoreError) {
    guard waited < StoreCore.longestWaitMilliseconds, othersHoldRoom() else { throw .noSpace }
    let pause = 2
    environment.clock.sleep(milliseconds: pause)
    waited += pause
  }

  private func othersHoldRoom() -> Bool {
    if locked({ !admissions.areOwn }) { return true }
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    return retiring.contains { catalog.segments.isPinnedByOthers($0.slot) }
  }
}
