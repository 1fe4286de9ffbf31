import Glibc

/// Threads that begin together.
enum Threads {
  /// One thread's part of the measurement.
  final class Timer {
    private let barrier: UnsafeMutablePointer<pthread_barrier_t>
    private var hasStarted = false
    fileprivate var began = 0
    fileprivate var ended = 0

    fileprivate init(_ barrier: UnsafeMutablePointer<pthread_barrier_t>) { self.barrier = barrier }

    /// Waits until every thread is ready. Each thread calls this once.
    func start() {
      arrive()
      began = Clock.now()
    }

    /// Ends the thread's measurement.
    func stop() { ended = Clock.now() }

    /// Lets the other threads begin, also if this one has failed before.
    fileprivate func arrive() {
      if hasStarted { return }
      hasStarted = true
      pthread_barrier_wait(barrier)
    }
  }

  private final class Job: @unchecked Sendable {
    let body: @Sendable (Int, Timer) throws -> Void
    let thread: Int
    let timer: Timer
    var failure: (any Error)?

    init(_ thread: Int, _ timer: Timer, _ body: @escaping @Sendable (Int, Timer) throws -> Void) {
      self.thread = thread
      self.timer = timer
      self.body = body
    }

    func run() {
      do { try body(thread, timer) } catch { failure = error }
      timer.arrive()
    }
  }

  /// Runs `body` on new threads. Returns the nanoseconds from the first start to the last stop. Throws the first error
  /// of a thread after all have ended.
  static func measure(_ count: Int, _ body: @escaping @Sendable (Int, Timer) throws -> Void) throws -> Double {
    let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
    pthread_barrier_init(barrier, nil, UInt32(count))
    defer {
      pthread_barrier_destroy(barrier)
      barrier.deallocate()
    }
    let jobs = (0..<count).map { Job($0, Timer(barrier), body) }
    var handles: [pthread_t] = []
    for job in jobs {
      var handle = pthread_t()
      let status = pthread_create(
        &handle, nil,
        { argument in
          if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().run() }
          return nil
        }, Unmanaged.passRetained(job).toOpaque())
      // The threads before it wait at the barrier and cannot be ended.
      precondition(status == 0, "no thread: \(String(cString: strerror(status)))")
      handles.append(handle)
    }
    for handle in handles { pthread_join(handle, nil) }
    if let failure = jobs.lazy.compactMap(\.failure).first { throw failure }
    let began = jobs.map(\.timer.began).min() ?? 0
    let ended = jobs.map(\.timer.ended).max() ?? 0
    return Double(ended - began)
  }
}
