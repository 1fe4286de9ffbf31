#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A few threads for calls that may block, shared by all stores of the process. They start when there is work, and end
/// after a while without any.
final class BlockingPool: @unchecked Sendable {
  static let shared = BlockingPool()

  private static let mostThreads = 4
  private static let idleMilliseconds = 5000

  private let monitor = Monitor()
  // Guarded by `monitor`.
  private var jobs: [() -> Void] = []
  private var next = 0
  private var threadCount = 0
  private var idleCount = 0

  func run<R, E: Error>(_ body: @escaping @Sendable () -> Result<R, E>) async -> Result<R, E>
  where R: Sendable {
    // Handed over under a lock: the continuation orders the two threads as well, but where Thread Sanitizer cannot see it.
    let result = Guarded<Result<R, E>?>(nil)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      submit {
        let value = body()
        result.withLock { $0 = value }
        continuation.resume()
      }
    }
    return result.withLock { $0! }
  }

  private func submit(_ job: @escaping () -> Void) {
    monitor.lock()
    jobs.append(job)
    if idleCount == 0, threadCount < BlockingPool.mostThreads, startThread() { threadCount += 1 }
    let isStranded = threadCount == 0
    monitor.signalAll()
    monitor.unlock()
    // Without a single thread the caller has to do it: late is better than never.
    if isStranded { drain() }
  }

  private func startThread() -> Bool {
    #if os(Linux)
      var thread = pthread_t()
      let result = pthread_create(&thread, nil, { BlockingPool.main($0) }, nil)
    #else
      var created: pthread_t?
      let result = pthread_create(&created, nil, { BlockingPool.main($0) }, nil)
      guard let thread = created else { return false }
    #endif
    guard result == 0 else { return false }
    pthread_detach(thread)
    return true
  }

  private static func main(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    shared.work()
    return nil
  }

  private func take() -> (() -> Void)? {
    guard next < jobs.count else { return nil }
    defer {
      next += 1
      if next == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        next = 0
      }
    }
    return jobs[next]
  }

  private func work() {
    monitor.lock()
    while true {
      if let job = take() {
        monitor.unlock()
        job()
        monitor.lock()
        continue
      }
      idleCount += 1
      monitor.wait(milliseconds: BlockingPool.idleMilliseconds)
      idleCount -= 1
      if next >= jobs.count { break }
    }
    threadCount -= 1
    monitor.unlock()
  }

  private func drain() {
    while true {
      monitor.lock()
      let job = take()
      monitor.unlock()
      guard let job else { return }
      job()
    }
  }
}
