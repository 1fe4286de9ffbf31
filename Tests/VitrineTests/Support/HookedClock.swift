@testable import Vitrine

/// Runs a hook whenever it is asked for the time.
final class HookedClock: Clock, @unchecked Sendable {
  private let base = ManualClock()
  let hook = Guarded<(@Sendable () -> Void)?>(nil)

  func wallMilliseconds() -> Int64 {
    hook.withLock { $0 }?()
    return base.wallMilliseconds()
  }
  func monotonicNanoseconds() -> UInt64 { base.monotonicNanoseconds() }
  func sleep(milliseconds: Int) { base.sleep(milliseconds: milliseconds) }
}
