/// A few threads for calls that may block, shared by all stores of the process. Threads start when a job arrives,
/// and end after a while without one.
///
/// Invariant: `jobs`, `threadCount` and `waitingCount` are touched only with the monitor locked.
final class BlockingPool: @unchecked Sendable {
  static let shared = BlockingPool()

  private static let idleMilliseconds = 5000

  private let mostThreads: Int
  private let monitor = Monitor()
  // Guarded by `monitor`.
  private var jobs = JobQueue()
  private var threadCount = 0
  /// Threads that wait for a job. A thread that was woken counts until it takes one.
  private var waitingCount = 0

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
    monitor.lock()
    jobs.append(job)
    // A waiting thread takes one job, which may be an earlier one.
    if jobs.count > waitingCount, threadCount < mostThreads, DetachedThread.start({ self.work() }) == 0 {
      threadCount += 1
    }
    let isStranded = threadCount == 0
    monitor.signal()
    monitor.unlock()
    // If no thread can be started, the caller runs the jobs.
    if isStranded { drain() }
  }

  private func work() {
    monitor.lock()
    while true {
      if let job = jobs.take() {
        monitor.unlock()
        job()
        monitor.lock()
        continue
      }
      waitingCount += 1
      monitor.wait(milliseconds: BlockingPool.idleMilliseconds)
      waitingCount -= 1
      if jobs.count == 0 { break }
    }
    threadCount -= 1
    monitor.unlock()
  }

  private func drain() {
    while true {
      monitor.lock()
      let job = jobs.take()
      monitor.unlock()
      guard let job else { return }
      job()
    }
  }
}

extension BlockingPool {
  /// For tests: whether a thread waits for a job.
  var hasWaitingThread: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return waitingCount > 0
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
