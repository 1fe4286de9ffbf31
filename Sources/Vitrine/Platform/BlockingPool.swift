/// A few threads for calls that may block, shared by all stores of the process. Threads start when a job arrives,
/// and end after a while without one.
final class BlockingPool: Sendable {
  private static let ofProcess = PerProcess { BlockingPool() }

  /// The pool of this process.
  static var shared: BlockingPool { ofProcess.current }

  private static let idleMilliseconds = 5000

  private let mostThreads: Int
  private let state = Monitored(State())

  private struct State {
    var jobs = JobQueue()
    var threadCount = 0
    /// Threads that wait for a job. A thread that was woken counts until it takes one.
    var waitingCount = 0
  }

  init(mostThreads: Int = 4) { self.mostThreads = mostThreads }

  func run<R, E: Error>(_ body: @escaping @Sendable () -> Result<R, E>) async -> Result<R, E>
  where R: Sendable {
    await run { finish in finish(body()) }
  }

  /// Runs `body` on a thread of the pool. The result is the one passed to `finish`, which `body` or a later job
  /// calls once.
  func run<R, E: Error>(
    _ body: @escaping @Sendable (_ finish: @escaping @Sendable (Result<R, E>) -> Void) -> Void
  ) async -> Result<R, E> where R: Sendable {
    // Handed over under a lock: the continuation orders the two threads as well, but Thread Sanitizer does not see
    // that.
    let result = Guarded<Result<R, E>?>(nil)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      submit {
        body { value in
          result.withLock { $0 = value }
          continuation.resume()
        }
      }
    }
    return result.withLock { $0! }
  }

  /// Runs `job` on a thread of the pool, behind all jobs submitted before.
  func submit(_ job: @escaping @Sendable () -> Void) {
    let isStranded = state.withLock { held in
      add(job, held)
      return held.value.threadCount == 0
    }
    // If no thread can be started, the caller runs the jobs.
    if isStranded { drain() }
  }

  private func add(_ job: @escaping @Sendable () -> Void, _ held: borrowing Monitored<State>.Held) {
    held.value.jobs.append(job)
    // A waiting thread takes one job, which may be an earlier one.
    if held.value.jobs.count > held.value.waitingCount, held.value.threadCount < mostThreads,
      DetachedThread.start({ self.work() }) == 0
    {
      held.value.threadCount += 1
    }
    held.signal()
  }

  private func work() {
    state.withLock { held in
      while true {
        var job = held.value.jobs.take()
        if job != nil {
          // The job may hold the last reference to a store, whose end takes this lock.
          held.unlocked {
            job?()
            job = nil
          }
          continue
        }
        held.value.waitingCount += 1
        held.wait(milliseconds: BlockingPool.idleMilliseconds)
        held.value.waitingCount -= 1
        if held.value.jobs.count == 0 { break }
      }
      held.value.threadCount -= 1
    }
  }

  private func drain() {
    while let job = state.withLock({ $0.value.jobs.take() }) { job() }
  }
}

extension BlockingPool {
  /// For tests: whether a thread waits for a job.
  var hasWaitingThread: Bool { state.withLock { $0.value.waitingCount > 0 } }

  /// For tests: submits two jobs before a waiting thread can take the first of them. A thread must be running.
  func submit(_ first: @escaping @Sendable () -> Void, with second: @escaping @Sendable () -> Void) {
    // Without a result of the body, the optimizer of Swift 6.3 ends with "Found ownership error" in a build with
    // fuzzers.
    let threadCount = state.withLock { held in
      add(first, held)
      add(second, held)
      return held.value.threadCount
    }
    precondition(threadCount > 0, "no thread takes the jobs")
  }
}

/// First in, first out. Keeps no reference to a job that was taken.
private struct JobQueue {
  private var incoming: [@Sendable () -> Void] = []
  /// The oldest last.
  private var outgoing: [@Sendable () -> Void] = []

  var count: Int { incoming.count + outgoing.count }

  mutating func append(_ job: @escaping @Sendable () -> Void) { incoming.append(job) }

  mutating func take() -> (@Sendable () -> Void)? {
    if outgoing.isEmpty {
      outgoing = incoming.reversed()
      incoming = []
    }
    return outgoing.popLast()
  }
}
