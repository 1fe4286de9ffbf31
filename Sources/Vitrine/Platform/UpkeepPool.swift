import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The threads that run the upkeep of all stores of the process. A thread starts when another one runs a step and none
/// waits for the next, so short steps of many stores share two threads. If no step has a time, no thread wakes.
///
/// Invariant: all variables, and those of the tasks, are touched only with the monitor locked.
final class UpkeepPool: BackgroundWork, @unchecked Sendable {
  private let monitor = Monitor()
  /// Nil allows a thread for each task, so that no slow disk keeps another store waiting.
  private let mostThreads: Int?
  /// The tasks that have not ended.
  private var tasks: [PoolTask] = []
  private var threads = 0
  /// Threads that wait for a step to become due.
  private var waitingCount = 0
  /// How often a thread has looked for a step.
  private var looks = 0
  /// Whether a thread waits until the time of the next step. Others wait only until they are woken, and end after a while.
  private var isTimed = false

  private let process = ForkGuard()

  init(mostThreads: Int? = nil) { self.mostThreads = mostThreads }

  /// The address of the process's pool, which is never freed.
  private static let current = Atomic<UInt>(0)

  /// The pool of this process. A forked child gets a pool of its own, because it has none of the parent's threads.
  static var shared: UpkeepPool {
    while true {
      let address = current.load(ordering: .acquiring)
      if let pointer = UnsafeRawPointer(bitPattern: address) {
        let pool = Unmanaged<UpkeepPool>.fromOpaque(pointer).takeUnretainedValue()
        if !pool.process.isInChild { return pool }
      }
      let made = Unmanaged.passRetained(UpkeepPool())
      let its = UInt(bitPattern: made.toOpaque())
      if !current.compareExchange(expected: address, desired: its, ordering: .acquiringAndReleasing).exchanged {
        made.release()
      }
    }
  }

  /// Milliseconds for which a thread without a time waits for another step.
  private static let idleMilliseconds = 2000

  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) throws(SystemError) -> any BackgroundTask {
    let task = PoolTask(name: name, pool: self, step: step)
    monitor.lock()
    defer { monitor.unlock() }
    task.schedule(first)
    tasks.append(task)
    if let failure = summon() {
      tasks.removeAll { $0 === task }
      throw failure
    }
    return task
  }

  /// Makes sure that a thread looks at the tasks again. Returns the error if there is no thread at all.
  private func summon() -> SystemError? {
    if waitingCount > 0 {
      // The thread that waits for a time has to see the new one.
      monitor.signalAll()
      return nil
    }
    guard threads < mostThreads ?? max(1, tasks.count) else { return nil }
    let code = DetachedThread.start { self.work() }
    if code == 0 { threads += 1 }
    return code == 0 || threads > 0 ? nil : SystemError(code: code, operation: "start thread", path: "vitrine upkeep")
  }

  private func work() {
    // Signals are for the embedding program's own threads. Faults stay unblocked: a blocked fault ends the process.
    var all = sigset_t()
    sigfillset(&all)
    for number in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP] { sigdelset(&all, number) }
    pthread_sigmask(SIG_BLOCK, &all, nil)
    monitor.lock()
    while true {
      let now = UpkeepPool.now()
      looks += 1
      if let task = tasks.filter({ $0.isDue(at: now) }).min(by: { $0.due < $1.due }) {
        run(task)
      } else if !wait(now) {
        break
      }
    }
    threads -= 1
    monitor.unlock()
  }

  /// Runs a step with the monitor unlocked.
  private func run(_ task: PoolTask) {
    // Another thread has to keep the time of the next step meanwhile.
    if tasks.contains(where: { $0 !== task && $0.isTimed }) { _ = summon() }
    let step = task.begin()
    monitor.unlock()
    let next = step?() ?? .whenWoken
    withExtendedLifetime(step) {}
    monitor.lock()
    task.finish(next)
    monitor.signalAll()
  }

  /// Waits for the next step. Returns false if the thread is not needed.
  private func wait(_ now: UInt64) -> Bool {
    let isTimer = !isTimed
    let due = tasks.lazy.filter(\.isTimed).map(\.due).min()
    if isTimer, tasks.isEmpty { return false }
    waitingCount += 1
    defer { waitingCount -= 1 }
    guard isTimer else {
      monitor.wait(milliseconds: UpkeepPool.idleMilliseconds)
      let later = UpkeepPool.now()
      return tasks.contains { $0.isDue(at: later) } || !isTimed
    }
    isTimed = true
    defer { isTimed = false }
    if let due { monitor.wait(milliseconds: Int((due - now + 999_999) / 1_000_000)) } else { monitor.wait() }
    return true
  }

  static func now() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  fileprivate func wake(_ task: PoolTask, afterMilliseconds delay: Int) {
    if process.isInChild { return }
    monitor.lock()
    task.schedule(.after(milliseconds: delay))
    _ = summon()
    monitor.unlock()
  }

  fileprivate func end(_ task: PoolTask, waits: Bool) {
    if process.isInChild { return }
    monitor.lock()
    let ended = task.takeStep()
    tasks.removeAll { $0 === task }
    // A thread that waits for no task ends.
    monitor.signalAll()
    while waits, task.isRunningElsewhere { monitor.wait() }
    monitor.unlock()
    withExtendedLifetime(ended) {}
  }
}

extension UpkeepPool {
  private func read<R>(_ body: () -> R) -> R {
    monitor.lock()
    defer { monitor.unlock() }
    return body()
  }

  /// For tests: the number of threads.
  var threadCount: Int { read { threads } }
  /// For tests: how often a thread has looked for a step.
  var lookCount: Int { read { looks } }
  /// For tests: whether no step runs or is due.
  var isSleeping: Bool { read { !tasks.contains { $0.isRunning || $0.isTimed } } }
}

/// A step that repeats.
///
/// Invariant: the variables are touched only with the pool's monitor locked.
private final class PoolTask: BackgroundTask, @unchecked Sendable {
  let name: String
  private let pool: UpkeepPool
  private var step: (@Sendable () -> NextStep)?
  /// When the next call is due, in monotonic nanoseconds; `UInt64.max` if only a wake makes it due.
  private(set) var due = UInt64.max
  private var runner: pthread_t?

  init(name: String, pool: UpkeepPool, step: @escaping @Sendable () -> NextStep) {
    self.name = name
    self.pool = pool
    self.step = step
  }

  func schedule(_ next: NextStep) {
    switch next {
    case .whenWoken: break
    case .after(let milliseconds):
      due = min(due, UpkeepPool.now() &+ UInt64(max(0, milliseconds)) &* 1_000_000)
    }
  }

  func isDue(at now: UInt64) -> Bool { isTimed && due <= now }
  /// Whether the next call has a time. While the step runs, its result decides.
  var isTimed: Bool { runner == nil && due < .max }
  var isRunning: Bool { runner != nil }
  var isRunningElsewhere: Bool { runner.map { pthread_equal($0, pthread_self()) == 0 } ?? false }

  func begin() -> (@Sendable () -> NextStep)? {
    (runner, due) = (pthread_self(), .max)
    return step
  }

  /// Ends a call. The next one is due at the time of `next`, or earlier if a wake during the call has set an earlier
  /// time.
  func finish(_ next: NextStep) {
    runner = nil
    schedule(next)
  }

  /// Returns the step, which is not called again.
  func takeStep() -> (@Sendable () -> NextStep)? {
    defer { step = nil }
    due = .max
    return step
  }

  func wake(afterMilliseconds delay: Int) { pool.wake(self, afterMilliseconds: delay) }
  func stop() { pool.end(self, waits: true) }
  func end() { pool.end(self, waits: false) }
}
