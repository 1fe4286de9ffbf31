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
package final class SharedSync: Sendable {
  private let state = Monitored(State())

  private struct State {
    var isRunning = false
    /// The number of runs begun, and the number of the last run whose sync succeeded.
    var begun = 0
    var synced = 0
    /// The number of ``SharedSync/sync(unless:_:)`` calls in progress, and that number when the last successful sync
    /// began.
    var callCount = 0
    var lastServed = 0
  }

  package init() {}

  /// The calls of ``sync(unless:_:)`` that are in progress.
  package var callsInProgress: Int { state.withLock { $0.value.callCount } }

  /// Returns when a sync that began after this call has succeeded, or when `isServed` returns true. `isServed` is
  /// called before and after each sync, with the lock held. `body` syncs, in the leader thread. If `body` throws, each
  /// other call runs its own `body`, one after another. If a later sync cannot report the failure, those bodies must
  /// throw the earlier error.
  package func sync<E: Error>(
    unless isServed: () -> Bool = { false }, _ body: () throws(E) -> Void
  ) throws(E) {
    try state.withLock { held throws(E) in
      let next = held.value.begun + 1
      held.value.callCount += 1
      defer { held.value.callCount -= 1 }
      while held.value.synced < next, !isServed() {
        if held.value.isRunning {
          held.wait()
          continue
        }
        held.value.isRunning = true
        SharedSync.awaitOthers(&held)
        let served = held.value.callCount
        held.value.begun += 1
        let run = held.value.begun
        try SharedSync.run(body, &held)
        held.value.synced = run
        held.value.lastServed = served
      }
    }
  }

  /// Runs `body` while no sync runs. `body` does not count as a sync, so it serves no call.
  package func exclude<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    try state.withLock { held throws(E) in
      while held.value.isRunning { held.wait() }
      held.value.isRunning = true
      held.value.begun += 1
      try SharedSync.run(body, &held)
    }
  }

  private static func run<E: Error>(
    _ body: () throws(E) -> Void, _ held: inout Monitored<State>.Held
  ) throws(E) {
    defer {
      held.value.isRunning = false
      held.signalAll()
    }
    try held.unlocked(body)
  }

  /// Lets other threads run until no further call comes. The leader has `isRunning` set.
  private static func awaitOthers(_ held: inout Monitored<State>.Held) {
    let lastServed = held.value.lastServed
    if lastServed < 2 { return }
    var turns = 0
    while held.value.callCount < lastServed, turns < lastServed {
      let before = held.value.callCount
      held.unlocked { _ = sched_yield() }
      if held.value.callCount == before { return }
      turns += 1
    }
  }
}
