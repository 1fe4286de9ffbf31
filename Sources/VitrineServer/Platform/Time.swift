#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

enum Time {
  /// Milliseconds since 1970.
  static func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Nanoseconds since an arbitrary moment. Setting the clock does not affect them.
  static func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Milliseconds since 1970 as `2026-01-31T23:59:59.123Z`.
  static func text(_ milliseconds: Int64) -> String {
    let time = calendar(milliseconds)
    let day = "\(time.tm_year + 1900)-\(two(time.tm_mon + 1))-\(two(time.tm_mday))"
    return "\(day)T\(clock(time)).\(thousandths(milliseconds))Z"
  }

  /// Milliseconds since 1970 in the form of HTTP, as `Sat, 31 Jan 2026 23:59:59 GMT` (RFC 9110, 5.6.7).
  static func webText(_ milliseconds: Int64) -> String {
    let time = calendar(milliseconds)
    let (day, month) = (days[Int(time.tm_wday) % 7], months[Int(time.tm_mon) % 12])
    return "\(day), \(two(time.tm_mday)) \(month) \(time.tm_year + 1900) \(clock(time)) GMT"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func calendar(_ milliseconds: Int64) -> tm {
    var seconds = time_t(max(0, milliseconds) / 1000)
    var result = tm()
    gmtime_r(&seconds, &result)
    return result
  }

  private static func clock(_ time: tm) -> String { "\(two(time.tm_hour)):\(two(time.tm_min)):\(two(time.tm_sec))" }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func thousandths(_ milliseconds: Int64) -> String {
    String(String(1000 + max(0, milliseconds) % 1000).dropFirst())
  }
}
