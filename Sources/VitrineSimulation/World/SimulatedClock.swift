import Vitrine

/// A clock that only a test, or a sleep, moves.
package final class SimulatedClock: Clock {
  private struct Now {
    var wallMilliseconds: Int64
    var monotonicNanoseconds: UInt64
    /// The value of the wall clock just before each step, oldest first: the latest since the previous step.
    var ends: [Int64] = []
  }
  private let now: Guarded<Now>

  /// By default 2025-01-01 00:00:00 UTC, one day after the machine was switched on.
  package init(wallMilliseconds: Int64 = 1_735_689_600_000, monotonicNanoseconds: UInt64 = 86_400_000_000_000) {
    now = Guarded(Now(wallMilliseconds: wallMilliseconds, monotonicNanoseconds: monotonicNanoseconds))
  }

  package func wallMilliseconds() -> Int64 { now.withLock { $0.wallMilliseconds } }
  package func monotonicNanoseconds() -> UInt64 { now.withLock { $0.monotonicNanoseconds } }

  /// Moves both clocks, and returns at once.
  package func sleep(milliseconds: Int) { advance(milliseconds: milliseconds) }

  package func advance(milliseconds: Int) {
    if milliseconds <= 0 { return }
    now.withLock { now in
      now.wallMilliseconds &+= Int64(milliseconds)
      now.monotonicNanoseconds &+= UInt64(milliseconds) &* 1_000_000
    }
  }

  /// Steps the wall clock alone, as an administrator does, in either direction.
  package func setWall(milliseconds: Int64) {
    now.withLock { now in
      now.ends.append(now.wallMilliseconds)
      now.wallMilliseconds = milliseconds
    }
  }

  /// The number of times the wall clock was set.
  var stepCount: Int { now.withLock { $0.ends.count } }

  /// Returns the latest value of the wall clock since it had been set `stepCount` times.
  func latestWall(since stepCount: Int) -> Int64 {
    now.withLock { $0.ends[min(stepCount, $0.ends.count)...].reduce($0.wallMilliseconds, max) }
  }
}
