// Group commit for calls that hold no thread while they wait. An async change runs on the pool up to its frame. What waits
// for the disk then is an entry in a list, and one job of the pool, the leader, makes the frames of all entries durable.

/// Changes whose frames are stored and that wait for the disk, and whether a leader is queued or at work.
///
/// Invariant: while there are waits, there is a leader. So each wait ends, when its frame is durable or with the error of the
/// sync. The leader holds the store, so a closed or released store still ends its waits.
struct AwaitedFrames {
  private var waits: [Wait] = []
  private var isLed = false

  struct Wait {
    let sequence: UInt64
    let end: @Sendable (Result<Void, StoreError>) -> Void
  }

  /// True when a leader has to be started.
  mutating func add(_ wait: Wait) -> Bool {
    waits.append(wait)
    defer { isLed = true }
    return !isLed
  }

  /// All waits by now, for the leader.
  mutating func take() -> [Wait] {
    defer { waits = [] }
    return waits
  }

  /// The leader is done. True when waits have come meanwhile: then it has to be started again.
  mutating func endLeading() -> Bool {
    isLed = !waits.isEmpty
    return isLed
  }
}

extension StoreCore {
  /// Runs a change up to its frame: the wait of ``acknowledgeSynced(_:)`` is left to the caller. Answers the frame to wait
  /// for, if any. For bodies that call nothing of the user's, which might rely on a wait of its own.
  func upToFrame<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> (result: R, frame: UInt64?) {
    let context = ThreadContext.current
    context.leavesFrames = true
    defer {
      context.leavesFrames = false
      context.frameLeft = nil
    }
    return (try body(), context.frameLeft)
  }

  /// As ``acknowledgeSynced(_:)``, but returns at once, and calls `end` later on a thread of the pool.
  func acknowledgeSynced(_ sequence: UInt64, then end: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
    if awaited.withLock({ $0.add(AwaitedFrames.Wait(sequence: sequence, end: end)) }) { leadAwaited() }
  }

  /// Behind the changes that are queued already, which so share the sync.
  private func leadAwaited() {
    BlockingPool.shared.submit {
      let waits = self.awaited.withLock { $0.take() }
      let outcome: Result<Void, StoreError>
      do throws(StoreError) {
        outcome = .success(try self.acknowledgeSynced(waits.reduce(0) { max($0, $1.sequence) }))
      } catch {
        outcome = .failure(error)
      }
      for wait in waits { wait.end(outcome) }
      if self.awaited.withLock({ $0.endLeading() }) { self.leadAwaited() }
    }
  }
}
