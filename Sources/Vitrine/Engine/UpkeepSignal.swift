import Synchronization

/// Wakes the background task, and tells it when a checkpoint is wanted.
///
/// In an idle store, the task sleeps until the next use or change wakes it (``noteActivity()``).
final class UpkeepSignal: StorePart {
  let context: StoreContext
  private let task = Guarded<(any BackgroundTask)?>(nil)
  /// The number of requests for a checkpoint, and the number of those that a published checkpoint has served.
  private let requests = Atomic<Int>(0)
  private let servedRequests = Atomic<Int>(0)
  private let isAsleep = Atomic<Bool>(false)
  private let wakes = Atomic<Int>(0)
  private let process = ForkGuard()

  init(_ context: StoreContext) {
    self.context = context
  }

  /// Starts the background task, which calls `round` each time it works.
  func startTask(_ round: @escaping @Sendable () -> NextStep) throws(StoreError) {
    let started = try system { () throws(SystemError) in
      try environment.background.start(
        name: "vitrine", first: .after(milliseconds: Maintainer.upkeepMilliseconds), step: round)
    }
    task.withLock { $0 = started }
  }

  /// Waits for a running round, unless called from it, and ends the task.
  func stopTask() { task.withLock { $0 }?.stop() }

  func wake(afterMilliseconds delay: Int = 0) {
    // In a forked child, the lock may never be released.
    if process.isInChild { return }
    // The count rises first: if upkeep's last look misses it, the wake comes after that look and ends the sleep.
    wakes.wrappingAdd(1, ordering: .sequentiallyConsistent)
    task.withLock { $0 }?.wake(afterMilliseconds: delay)
  }

  /// The number of wakes so far. Upkeep compares it to notice a wake that comes while it falls asleep.
  var wakeCount: Int { wakes.load(ordering: .sequentiallyConsistent) }

  /// Whether a checkpoint was requested since the image of the last published one was written.
  var wantsCheckpoint: Bool { requests.load(ordering: .relaxed) != servedRequests.load(ordering: .relaxed) }

  /// The number of requests so far. A checkpoint serves those that came before its image.
  var requestCount: Int { requests.load(ordering: .relaxed) }

  func requestCheckpoint() { requests.wrappingAdd(1, ordering: .relaxed) }

  /// Notes that a checkpoint has served the first `count` requests.
  func noteCheckpoint(serving count: Int) { servedRequests.store(count, ordering: .relaxed) }

  /// Notes that the background task will not be called for a second or longer. Call ``SharedUseTimes/endCurrent()``
  /// after it, so that the next use or change calls ``noteActivity()``.
  func fallAsleep() { isAsleep.store(true, ordering: .sequentiallyConsistent) }

  func stayAwake() { isAsleep.store(false, ordering: .relaxed) }

  /// Wakes a sleeping background task in one second, so that one round serves all uses of that second. Costs one load
  /// if the task does not sleep.
  func noteActivity() {
    if isAsleep.load(ordering: .relaxed), isAsleep.exchange(false, ordering: .relaxed) {
      wake(afterMilliseconds: Maintainer.upkeepMilliseconds)
    }
  }
}
