#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The threads that run the upkeep of all stores of the process. A thread starts when another one runs a step and none
/// waits for the next, so short steps of many stores share two threads. If no step has a time, no thread wakes.
final class UpkeepPool: BackgroundWork, Sendable {
  private let state = Monitored(State())
  /// Nil allows a thread for each task, so that no slow disk keeps another store waiting.
  private let mostThreads: Int?

  private struct State {
    /// The tasks that have not ended.
    var tasks: [PoolTask.ID: PoolTask] = [:]
    var lastTask: PoolTask.ID = 0
    var threads = 0
    /// Threads that wait for a step to become due.
    var waitingCount = 0
    /// How often a thread has looked for a step.
    var looks = 0
    /// Whether a thread waits until the time of the next step. Others wait only until they are woken, and end after a
    /// while.
    var isTimed = false
  }

  private typealias Held = Monitored<State>.Held

  private let process = ForkGuard()

  init(mostThreads: Int? = nil) { self.mostThreads = mostThreads }

  private static let ofProcess = PerProcess { UpkeepPool() }

  /// The pool of this process.
  static var shared: UpkeepPool { ofProcess.current }

  /// Milliseconds for which a thread without a time waits for another step.
  private static let idleMilliseconds = 2000

  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) throws(SystemError) -> any BackgroundTask {
    try state.withLock { held throws(SystemError) in
      held.value.lastTask += 1
      var task = PoolTask(id: held.value.lastTask, step: step)
      task.schedule(first)
      held.value.tasks[task.id] = task
      if let failure = summon(held) {
        held.value.tasks[task.id] = nil
        throw failure
      }
      return PoolTaskHandle(pool: self, id: task.id)
    }
  }

  /// Makes sure that a thread looks at the tasks again. Returns the error if there is no thread at all.
  private func summon(_ held: borrowing Held) -> SystemError? {
    if held.value.waitingCount > 0 {
      // The thread that waits for a time has to see the new one.
      held.signalAll()
      return nil
    }
    guard held.value.threads < mostThreads ?? max(1, held.value.tasks.count) else { return nil }
    let code = DetachedThread.start { self.work() }
    if code == 0 { held.value.threads += 1 }
    if code == 0 || held.value.threads > 0 { return nil }
    return SystemError(code: code, operation: "start thread", path: "vitrine upkeep")
  }

  private func work() {
    DetachedThread.blockSignals()
    state.withLock { held in
      while true {
        let now = UpkeepPool.now()
        held.value.looks += 1
        if let id = UpkeepPool.nextDue(now, held) {
          run(id, &held)
        } else if !wait(now, &held) {
          break
        }
      }
      held.value.threads -= 1
    }
  }

  /// Returns the task that is due first. A copy of it must not outlive this function: the release of its step may end a
  /// store, which takes the lock.
  private static func nextDue(_ now: UInt64, _ held: borrowing Held) -> PoolTask.ID? {
    held.value.tasks.values.lazy.filter { $0.isDue(at: now) }.min { $0.due < $1.due }?.id
  }

  /// Runs a step with the lock released.
  private func run(_ id: PoolTask.ID, _ held: inout Held) {
    // Another thread has to keep the time of the next step meanwhile.
    if held.value.tasks.values.contains(where: { $0.id != id && $0.isTimed }) { _ = summon(held) }
    var step = held.value.tasks[id]?.begin()
    let next = held.unlocked {
      defer { step = nil }
      return step?() ?? .whenWoken
    }
    held.value.tasks[id]?.finish(next)
    if held.value.tasks[id]?.hasEnded == true { held.value.tasks[id] = nil }
    held.signalAll()
  }

  /// Waits for the next step. Returns false if the thread is not needed.
  private func wait(_ now: UInt64, _ held: inout Held) -> Bool {
    let isTimer = !held.value.isTimed
    let due = held.value.tasks.values.lazy.filter(\.isTimed).map(\.due).min()
    if isTimer, held.value.tasks.isEmpty { return false }
    held.value.waitingCount += 1
    defer { held.value.waitingCount -= 1 }
    guard isTimer else {
      held.wait(milliseconds: UpkeepPool.idleMilliseconds)
      let later = UpkeepPool.now()
      return held.value.tasks.values.contains { $0.isDue(at: later) } || !held.value.isTimed
    }
    held.value.isTimed = true
    defer { held.value.isTimed = false }
    if let due { held.wait(milliseconds: Int((due - now + 999_999) / 1_000_000)) } else { held.wait() }
    return true
  }

  static func now() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  fileprivate func wake(_ id: PoolTask.ID, afterMilliseconds delay: Int) {
    if process.isInChild { return }
    state.withLock { held in
      held.value.tasks[id]?.schedule(.after(milliseconds: delay))
      _ = summon(held)
    }
  }

  /// Ends a task. With `waits`, returns when no other thread runs its step.
  fileprivate func end(_ id: PoolTask.ID, waits: Bool) {
    if process.isInChild { return }
    let ended = state.withLock { held in
      let ended = held.value.tasks[id]?.takeStep()
      if held.value.tasks[id]?.isRunning == false { held.value.tasks[id] = nil }
      // A thread that waits for no task ends.
      held.signalAll()
      while waits, held.value.tasks[id]?.isRunningElsewhere == true { held.wait() }
      return ended
    }
    withExtendedLifetime(ended) {}
  }
}

extension UpkeepPool {
  /// For tests: the number of threads.
  var threadCount: Int { state.withLock { $0.value.threads } }
  /// For tests: how often a thread has looked for a step.
  var lookCount: Int { state.withLock { $0.value.looks } }
  /// For tests: whether no step runs or is due.
  var isSleeping: Bool {
    state.withLock { held in !held.value.tasks.values.contains { $0.isRunning || $0.isTimed } }
  }
}

/// A step that repeats.
private struct PoolTask {
  typealias ID = Int

  let id: ID
  private var step: (@Sendable () -> NextStep)?
  /// When the next call is due, in monotonic nanoseconds; `UInt64.max` if only a wake makes it due.
  private(set) var due = UInt64.max
  private var runner: pthread_t?

  init(id: ID, step: @escaping @Sendable () -> NextStep) {
    self.id = id
    self.step = step
  }

  mutating func schedule(_ next: NextStep) {
    switch next {
    case .whenWoken: break
    case .after(let milliseconds):
      if hasEnded { return }
      due = min(due, UpkeepPool.now() &+ UInt64(max(0, milliseconds)) &* 1_000_000)
    }
  }

  /// Whether its step was taken, so that no call begins.
  var hasEnded: Bool { step == nil }
  func isDue(at now: UInt64) -> Bool { isTimed && due <= now }
  /// Whether the next call has a time. While the step runs, its result decides.
  var isTimed: Bool { runner == nil && due < .max }
  var isRunning: Bool { runner != nil }
  var isRunningElsewhere: Bool { runner.map { pthread_equal($0, pthread_self()) == 0 } ?? false }

  mutating func begin() -> (@Sendable () -> NextStep)? {
    (runner, due) = (pthread_self(), .max)
    return step
  }

  /// Ends a call. The next one is due at the time of `next`, or earlier if a wake during the call has set an earlier
  /// time.
  mutating func finish(_ next: NextStep) {
    runner = nil
    schedule(next)
  }

  /// Returns the step, which is not called again.
  mutating func takeStep() -> (@Sendable () -> NextStep)? {
    defer { step = nil }
    due = .max
    return step
  }
}

private final class PoolTaskHandle: BackgroundTask {
  private let pool: UpkeepPool
  private let id: PoolTask.ID

  init(pool: UpkeepPool, id: PoolTask.ID) {
    self.pool = pool
    self.id = id
  }

  func wake(afterMilliseconds delay: Int) { pool.wake(id, afterMilliseconds: delay) }
  func stop() { pool.end(id, waits: true) }
  func end() { pool.end(id, waits: false) }
}
