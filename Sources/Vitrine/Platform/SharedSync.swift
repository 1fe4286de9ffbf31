#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Lets threads share syncs of a file. Any sync that begins after a call serves that call. At most one sync runs at a
/// time, and the next sync serves all calls that arrive during it.
///
/// If the last sync served more than one call, the next leader does not begin at once. It first lets ready threads run,
/// as long as each turn brings a further call. If the last sync served one call, the leader begins at once.
///
/// Invariant: the fields are touched only with the monitor locked.
package final class SharedSync: @unchecked Sendable {
  private let monitor = Monitor()
  private var isRunning = false
  /// The number of runs begun, and the number of the last run whose sync succeeded.
  private var begun = 0
  private var synced = 0
  /// The number of ``sync(unless:_:)`` calls in progress, and that number when the last successful sync began.
  private var callCount = 0
  private var lastServed = 0

  package init() {}

  /// The calls of ``sync(unless:_:)`` that are in progress.
  package var callsInProgress: Int {
    monitor.lock()
    defer { monitor.unlock() }
    return callCount
  }

  /// Returns when a sync that began after this call has succeeded, or when `isServed` returns true. It is called
  /// before and after each sync, with the monitor locked. `body` syncs, in the leader thread. If `body` throws, each
  /// other call runs its own `body`, one after another. If a later sync cannot report the failure, these must throw it
  /// too.
  package func sync<E: Error>(
    unless isServed: () -> Bool = { false }, _ body: () throws(E) -> Void
  ) throws(E) {
    monitor.lock()
    defer { monitor.unlock() }
    let next = begun + 1
    callCount += 1
    defer { callCount -= 1 }
    while synced < next, !isServed() {
      if isRunning {
        monitor.wait()
        continue
      }
      isRunning = true
      awaitOthers()
      let served = callCount
      begun += 1
      let run = begun
      try running(body)
      synced = run
      lastServed = served
    }
  }

  /// Runs `body` while no sync runs. `body` does not count as a sync, so it serves no call.
  package func exclude<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    monitor.lock()
    defer { monitor.unlock() }
    while isRunning { monitor.wait() }
    isRunning = true
    begun += 1
    try running(body)
  }

  private func running<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    monitor.unlock()
    defer {
      monitor.lock()
      isRunning = false
      monitor.signalAll()
    }
    try body()
  }

  /// Lets other threads run until no further call comes. The leader has `isRunning` set.
  private func awaitOthers() {
    if lastServed < 2 { return }
    var turns = 0
    while callCount < lastServed, turns < lastServed {
      let before = callCount
      monitor.unlock()
      sched_yield()
      monitor.lock()
      if callCount == before { return }
      turns += 1
    }
  }
}
