import Vitrine

/// Background work that runs when a test calls it, on the test's thread, so that a run repeats.
package final class SimulatedBackgroundWork: BackgroundWork {
  package enum Mode: Sendable {
    /// Steps run in ``runPending(limit:)`` and ``runAll(times:)`` only.
    case manual
    /// A wake for now runs the step before it returns, unless the step is running already; then the step runs once more
    /// after that. Deadlocks an engine that wakes while it holds a lock which the step takes.
    case inline
  }

  private struct State {
    var mode: Mode
    /// In the order of their starts. A stopped task is removed.
    var tasks: [SimulatedBackgroundTask] = []
    var failure: SystemError?
  }
  private let state: Guarded<State>

  package init(_ mode: Mode = .manual) { state = Guarded(State(mode: mode)) }

  package var mode: Mode {
    get { state.withLock { $0.mode } }
    set { state.withLock { $0.mode = newValue } }
  }

  /// Makes the next starts throw this error, as if threads had run out.
  package func failStarts(with error: SystemError?) { state.withLock { $0.failure = error } }

  package func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) throws(SystemError) -> any BackgroundTask {
    try state.withLock { (state) throws(SystemError) in
      if let failure = state.failure { throw failure }
      let task = SimulatedBackgroundTask(name: name, work: self, step: step)
      state.tasks.append(task)
      return task
    }
  }

  /// Names of the tasks that were started and not stopped.
  package var taskNames: [String] { tasks.map(\.name) }
  package var hasPending: Bool { tasks.contains { $0.isPending } }

  /// Runs woken steps, and those that they wake, until nothing is pending or `limit` steps have run. Returns the
  /// number of steps.
  @discardableResult
  package func runPending(limit: Int = 1000) -> Int {
    var count = 0
    while count < limit, let task = tasks.first(where: { $0.isPending }) {
      if task.run() { count += 1 } else { break }
    }
    return count
  }

  /// Runs every task's step, woken or not, as when its interval has passed.
  package func runAll(times: Int = 1) {
    for _ in 0..<Swift.max(times, 0) {
      for task in tasks { task.run() }
    }
  }

  private var tasks: [SimulatedBackgroundTask] { state.withLock { $0.tasks } }

  fileprivate func drop(_ task: SimulatedBackgroundTask) {
    // Released outside the lock: the deinit of captured objects may run any code.
    let dropped = state.withLock { state -> [SimulatedBackgroundTask] in
      let dropped = state.tasks.filter { $0 === task }
      state.tasks.removeAll { $0 === task }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }
}

/// One task. Its steps never overlap, and none begins after ``stop()`` has returned.
///
/// Invariant: the monitor guards all variables.
private final class SimulatedBackgroundTask: BackgroundTask, @unchecked Sendable {
  let name: String
  private let work: SimulatedBackgroundWork
  private let monitor = Monitor()
  private var step: (@Sendable () -> NextStep)?
  private var wasWoken = false
  private var runner: ThreadIdentity?

  init(name: String, work: SimulatedBackgroundWork, step: @escaping @Sendable () -> NextStep) {
    self.name = name
    self.work = work
    self.step = step
  }

  var isPending: Bool { monitor.withLock { wasWoken && step != nil && runner == nil } }

  func wake(afterMilliseconds delay: Int) {
    monitor.withLock { wasWoken = true }
    guard work.mode == .inline, delay == 0 else { return }
    while isPending, run() {}
  }

  /// Returns false if the task was stopped or its step is running.
  @discardableResult
  func run() -> Bool {
    let claimed = monitor.withLock { () -> (@Sendable () -> NextStep)? in
      guard runner == nil, let step else { return nil }
      runner = ThreadIdentity.current
      wasWoken = false
      return step
    }
    guard let claimed else { return false }
    _ = claimed()
    monitor.withLock {
      runner = nil
      monitor.signalAll()
    }
    return true
  }

  func end() {
    let ended = monitor.withLock { () -> (@Sendable () -> NextStep)? in
      let ended = step
      step = nil
      return ended
    }
    withExtendedLifetime(ended) {}
    work.drop(self)
  }

  func stop() {
    let ended = monitor.withLock { () -> (@Sendable () -> NextStep)? in
      let ended = step
      step = nil
      while let runner, runner != ThreadIdentity.current { monitor.wait() }
      return ended
    }
    withExtendedLifetime(ended) {}
    work.drop(self)
  }
}

extension Monitor {
  fileprivate func withLock<R>(_ body: () -> R) -> R {
    lock()
    defer { unlock() }
    return body()
  }
}
