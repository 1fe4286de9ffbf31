import Foundation

/// Processor time in seconds.
enum CPUTime {
  /// For the calling thread.
  static var thread: Double { seconds(CLOCK_THREAD_CPUTIME_ID) }

  /// For all threads of this process.
  static var process: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Seconds since an unspecified moment.
enum WallTime {
  static var now: Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
}
