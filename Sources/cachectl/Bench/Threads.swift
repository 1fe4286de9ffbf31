import Glibc
import Synchronization

/// Operating system threads, as servers use them.
enum Threads {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a detached thread.
  static func start(_ body: @escaping @Sendable () -> Void) throws(Failure) {
    pthread_detach(try create(body))
  }

  /// Runs `body` on this many threads at once; returns the nanoseconds from their common start to the end of the
  /// last.
  static func measure(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) throws(Failure)
    -> Double
  {
    let gate = Gate(count)
    var threads: [pthread_t] = []
    do throws(Failure) {
      for index in 0..<count {
        threads.append(
          try create {
            if gate.wait() { body(index) }
          })
      }
    } catch {
      gate.giveUp()
      for thread in threads { pthread_join(thread, nil) }
      throw error
    }
    let start = gate.open()
    for thread in threads { pthread_join(thread, nil) }
    return Double(Time.monotonicNanoseconds() - start)
  }

  private static func create(_ body: @escaping @Sendable () -> Void) throws(Failure) -> pthread_t {
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard code == 0 else {
      work.release()
      throw Failure("start a thread: \(String(cString: strerror(code)))")
    }
    return thread
  }
}

/// Holds threads back until all of them have arrived. Spins: it is held for microseconds.
private final class Gate: Sendable {
  private let missing: Atomic<Int>
  private let isOpen = Atomic(false)
  private let isGivenUp = Atomic(false)

  init(_ count: Int) { missing = Atomic(count) }

  /// Returns true once the gate is open, or false if it stays closed.
  func wait() -> Bool {
    missing.subtract(1, ordering: .acquiringAndReleasing)
    while !isOpen.load(ordering: .acquiring) {
      if isGivenUp.load(ordering: .acquiring) { return false }
      sched_yield()
    }
    return true
  }

  /// Ends all waits, because not all threads could be started.
  func giveUp() { isGivenUp.store(true, ordering: .releasing) }

  /// Returns the time at which it opened.
  func open() -> UInt64 {
    while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    let now = Time.monotonicNanoseconds()
    isOpen.store(true, ordering: .releasing)
    return now
  }
}
