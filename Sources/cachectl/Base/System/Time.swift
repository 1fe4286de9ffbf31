import Glibc

package enum Time {
  /// Milliseconds since 1970.
  package static func wallMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// Inlinable, because benchmarks call it around each operation.
  @inlinable package static func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  /// `2026-03-01 14:05` in local time; the number itself if it is outside the calendar.
  package static func text(milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return "\(milliseconds) ms" }
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = buffer.withUnsafeMutableBytes { bytes in
      strftime(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, "%Y-%m-%d %H:%M", &parts)
    }
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}
