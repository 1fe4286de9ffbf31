import Vitrine

/// Time that passes only when a test, or a sleep, makes it.
package final class SimulatedClock: Clock {
  private struct Now {
    var wallMilliseconds: Int64
    var monotonicNanoseconds: UInt64
  }
  private let now: Guarded<Now>

  /// 2025-01-01 00:00:00 UTC, a day after the machine was switched on, unless told otherwise.
  package init(wallMilliseconds: Int64 = 1_735_689_600_000, monotonicNanoseconds: UInt64 = 86_400_000_000_000) {
    now = Guarded(Now(wallMilliseconds: wallMilliseconds, monotonicNanoseconds: monotonicNanoseconds))
  }

  package func wallMilliseconds() -> Int64 { now.withLock { $0.wallMilliseconds } }
  package func monotonicNanoseconds() -> UInt64 { now.withLock { $0.monotonicNanoseconds } }

  /// Moves both clocks, and answers at once.
  package func sleep(milliseconds: Int) { advance(milliseconds: milliseconds) }

  package func advance(milliseconds: Int) {
    if milliseconds <= 0 { return }
    now.withLock { now in
      now.wallMilliseconds &+= Int64(milliseconds)
      now.monotonicNanoseconds &+= UInt64(milliseconds) &* 1_000_000
    }
  }

  /// Steps the wall clock alone, as an administrator does, in either direction.
  package func setWall(milliseconds: Int64) { now.withLock { $0.wallMilliseconds = milliseconds } }
}
