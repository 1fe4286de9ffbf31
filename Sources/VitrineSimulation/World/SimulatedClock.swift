import Vitrine

/// Time that passes only when a test, or a sleep, makes it.
package final class SimulatedClock: Clock {
  private struct Now {
    var wallMilliseconds: Int64
    var monotonicNanoseconds: UInt64
    /// What the wall clock showed when it was set, oldest first: the latest of each stretch in which time only passed.
    var ends: [Int64] = []
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
  package func setWall(milliseconds: Int64) {
    now.withLock { now in
      now.ends.append(now.wallMilliseconds)
      now.wallMilliseconds = milliseconds
    }
  }

  /// How often the wall clock was set.
  var stepCount: Int { now.withLock { $0.ends.count } }

  /// The latest that the wall clock has shown since it had been set so often.
  func latestWall(since stepCount: Int) -> Int64 {
    now.withLock { $0.ends[min(stepCount, $0.ends.count)...].reduce($0.wallMilliseconds, max) }
  }
}
