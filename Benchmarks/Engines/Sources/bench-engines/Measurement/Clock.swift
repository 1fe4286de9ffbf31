import Glibc

enum Clock {
  /// Nanoseconds of the monotonic clock.
  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  /// Nanoseconds that `body` takes.
  static func time<R>(_ body: () throws -> R) rethrows -> (result: R, nanoseconds: Double) {
    let start = now()
    let result = try body()
    return (result, Double(now() - start))
  }

  /// Calls `body` for about this many seconds, and returns the nanoseconds of one call. The clock is read once in
  /// `block` calls.
  @inline(__always)
  static func nanosecondsPerCall(
    seconds: Double, block: Int = 128, _ body: () throws -> Void
  ) rethrows -> Double {
    let start = now()
    let end = start + Int(seconds * 1e9)
    var calls = 0
    var last = start
    repeat {
      for _ in 0..<block { try body() }
      calls += block
      last = now()
    } while last < end
    return Double(last - start) / Double(calls)
  }
}
