import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

final class POSIXClock: Clock {
  var isShared: Bool { true }

  func wallMilliseconds() -> Int64 { POSIXClock.now() }

  /// Returns the wall-clock time without an instance, so a hit counts no reference.
  @inline(__always)
  static func now() -> Int64 {
    var now = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_REALTIME_COARSE, &now)
    #else
      clock_gettime(CLOCK_REALTIME, &now)
    #endif
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  func sleep(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
  func wait(on monitor: Monitor, milliseconds: Int) { monitor.wait(milliseconds: milliseconds) }
}

final class POSIXEntropy: Entropy {
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    let result = vitrine_random(buffer.baseAddress, buffer.count)
    if result != 0 { throw SystemError(code: result, operation: "read", path: "the kernel's random bytes") }
  }
}

/// One thread for each store.
final class POSIXBackgroundWork: BackgroundWork {
  func start(
    name: String, intervalMilliseconds: Int, step: @escaping @Sendable () -> Void
  ) throws(SystemError) -> any BackgroundTask {
    try POSIXBackgroundTask(name: name, intervalMilliseconds: intervalMilliseconds, step: step)
  }
}

/// A thread that repeats a step.
///
/// Invariant: `thread` changes only in `init`. The state has a lock of its own.
private final class POSIXBackgroundTask: BackgroundTask, @unchecked Sendable {
  private let state = ThreadState()
  private var thread: pthread_t

  /// State that the thread shares with its owner. It outlives the task if the step itself ends the task.
  ///
  /// Invariant: the fields are touched only with the monitor locked, or before the thread starts.
  private final class ThreadState: @unchecked Sendable {
    let monitor = Monitor()
    var isAwake = false
    var isStopped = false
    var hasEnded = false
    var step: (@Sendable () -> Void)?
    var intervalMilliseconds = 0
  }

  init(name: String, intervalMilliseconds: Int, step: @escaping @Sendable () -> Void) throws(SystemError) {
    state.step = step
    state.intervalMilliseconds = intervalMilliseconds
    let context = Unmanaged.passRetained(state).toOpaque()
    #if os(Linux)
      var created = pthread_t()
      let result = pthread_create(&created, nil, { POSIXBackgroundTask.run($0!) }, context)
      thread = created
    #else
      var created: pthread_t?
      let result = pthread_create(&created, nil, { POSIXBackgroundTask.run($0) }, context)
      thread = created ?? pthread_self()
    #endif
    if result != 0 {
      Unmanaged<ThreadState>.fromOpaque(context).release()
      throw SystemError(code: result, operation: "start thread", path: name)
    }
    pthread_detach(thread)
  }

  private static func run(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let state = Unmanaged<ThreadState>.fromOpaque(context).takeRetainedValue()
    // Signals are for the embedding program's own threads. Faults stay unblocked: a blocked fault ends the process.
    var all = sigset_t()
    sigfillset(&all)
    for number in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP] { sigdelset(&all, number) }
    pthread_sigmask(SIG_BLOCK, &all, nil)
    state.monitor.lock()
    while !state.isStopped {
      if !state.isAwake { state.monitor.wait(milliseconds: state.intervalMilliseconds) }
      if state.isStopped { break }
      state.isAwake = false
      let step = state.step
      state.monitor.unlock()
      step?()
      state.monitor.lock()
    }
    state.hasEnded = true
    state.step = nil
    state.monitor.signalAll()
    state.monitor.unlock()
    return nil
  }

  func wake() {
    state.monitor.lock()
    state.isAwake = true
    state.monitor.signalAll()
    state.monitor.unlock()
  }

  func end() {
    state.monitor.lock()
    state.isStopped = true
    state.monitor.signalAll()
    state.monitor.unlock()
  }

  func stop() {
    state.monitor.lock()
    state.isStopped = true
    state.monitor.signalAll()
    if pthread_equal(pthread_self(), thread) == 0 {
      while !state.hasEnded { state.monitor.wait() }
    }
    state.monitor.unlock()
  }
}
