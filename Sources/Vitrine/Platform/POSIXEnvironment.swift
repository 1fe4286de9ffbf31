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

/// The upkeep of all stores of the process, on the threads of one pool.
final class POSIXBackgroundWork: BackgroundWork {
  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) throws(SystemError) -> any BackgroundTask {
    try UpkeepPool.shared.start(name: name, first: first, step: step)
  }
}
