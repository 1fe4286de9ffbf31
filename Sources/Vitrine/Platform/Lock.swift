#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A `pthread` mutex at a stable address. ThreadSanitizer understands it, but not `Synchronization.Mutex`.
///
/// Invariant: the memory belongs to the value's single owner, which calls `destroy()` once no other code can use
/// it.
package struct RawLock: @unchecked Sendable {
  let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// With `spins`, a thread that finds the lock held spins for some microseconds before it sleeps, if the system has
  /// such a lock. Use it for a contended lock whose holds are shorter than a sleep and a wake.
  init(spins: Bool = false) {
    mutex = .allocate(capacity: 1)
    RawLock.initialize(mutex, spins: spins)
  }

  static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>, spins: Bool = false) {
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    #if canImport(Glibc)
      if spins { pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP)) }
    #endif
    let result = pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
    precondition(result == 0, "a mutex of these types always initializes")
  }

  func destroy() {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always) func lock() { pthread_mutex_lock(mutex) }
  @inline(__always) func unlock() { pthread_mutex_unlock(mutex) }
  @inline(__always) func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }
}

/// A value next to its lock.
///
/// Invariant: `value` is touched only under the lock.
package final class Guarded<Value>: @unchecked Sendable {
  private let lock = RawLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }
  deinit { lock.destroy() }

  @inline(__always)
  package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}

/// A lock that can be waited on.
///
/// Invariant: `condition` is initialized memory of this object until deinit, and threads wait on it only with `mutex`.
package final class Monitor: @unchecked Sendable {
  private let mutex = RawLock()
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    condition = .allocate(capacity: 1)
    #if os(Linux)
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #else
      pthread_cond_init(condition, nil)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    mutex.destroy()
  }

  @inline(__always) package func lock() { mutex.lock() }
  @inline(__always) package func unlock() { mutex.unlock() }
  /// Waits for a signal, and may return without one. Call it with the lock held, which is held again on return.
  package func wait() { pthread_cond_wait(condition, mutex.mutex) }
  package func signalAll() { pthread_cond_broadcast(condition) }
  package func signal() { pthread_cond_signal(condition) }

  /// Like ``wait()``, for at most this time.
  package func wait(milliseconds: Int) {
    var limit = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC, &limit)
    #else
      clock_gettime(CLOCK_REALTIME, &limit)
    #endif
    let nanoseconds = Int(limit.tv_nsec) + (milliseconds % 1000) * 1_000_000
    limit.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
    limit.tv_nsec = nanoseconds % 1_000_000_000
    pthread_cond_timedwait(condition, mutex.mutex, &limit)
  }
}
