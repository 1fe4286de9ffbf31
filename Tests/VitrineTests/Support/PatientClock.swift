import Foundation

@testable import Vitrine

/// A clock that a test moves, and on which waiting threads really wait.
final class PatientClock: Clock, @unchecked Sendable {
  static let start: UInt64 = 1_000_000_000_000
  private let base = ManualClock()
  private let passed = Guarded<UInt64>(0)

  func wallMilliseconds() -> Int64 { base.wallMilliseconds() }
  func monotonicNanoseconds() -> UInt64 { PatientClock.start + passed.withLock { $0 } }
  func sleep(milliseconds: Int) { usleep(200) }
  func advance(_ milliseconds: Int64) {
    base.advance(milliseconds)
    passed.withLock { $0 += UInt64(milliseconds) * 1_000_000 }
  }
  /// Reads the time repeatedly, since moving it wakes no thread.
  func wait(on monitor: Monitor, milliseconds: Int) { monitor.wait(milliseconds: 5) }
  func suspend(milliseconds: Int) async throws {
    let end = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    while monotonicNanoseconds() < end { try await Task.sleep(nanoseconds: 500_000_000) }
  }
}
