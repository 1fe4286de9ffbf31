import CacheCtlBase
import CacheCtlKit
import Glibc

/// Delays puts so that their bytes do not exceed a rate. After a put, the next one waits for the time that the rate
/// gives its bytes. A replay that falls behind catches up by a hundredth of a second at most, which covers the
/// imprecision of sleeps.
struct PutPace {
  /// Bytes a second; nil if no put waits.
  private let byteRate: Int?
  /// When the next put may begin, in nanoseconds.
  private var next: UInt64 = 0
  private static let mostBehind: UInt64 = 10_000_000
  /// A wait takes notice of an interruption after so long.
  private static let longestPause: UInt64 = 100_000_000

  init(byteRate: Int?) { self.byteRate = byteRate }

  /// Waits until the next put may begin. Throws if the user interrupts the wait.
  func wait() throws {
    if byteRate == nil { return }
    while case let delay = delay(at: Time.monotonicNanoseconds()), delay > 0 {
      if Interruption.isWanted { throw Failure("interrupted") }
      usleep(UInt32(min(delay, PutPace.longestPause) / 1000 + 1))
    }
  }

  /// Notes that `byteCount` bytes were put.
  mutating func note(_ byteCount: Int, at now: UInt64 = Time.monotonicNanoseconds()) {
    guard let byteRate else { return }
    let earliest = now - min(now, PutPace.mostBehind)
    next = max(next, earliest) &+ UInt64(min(Double(byteCount) * 1e9 / Double(byteRate), 1e18))
  }

  /// Nanoseconds from `now` until the next put may begin.
  func delay(at now: UInt64) -> UInt64 { next > now ? next - now : 0 }
}
