import Foundation
import VitrineImages

/// Reads the process's CPU time every 10 ms, on a separate thread whose own time does not count.
final class CPUSampler: Sendable {
  struct Usage: Codable, Sendable {
    /// Total processor time in seconds.
    var total = 0.0
    /// The maximum in one window, in processors: 1 is one processor that is busy for the whole window.
    var peak = 0.0
    var windowCount = 0
  }

  private struct State {
    var isStopped = false
    var usage = Usage()
    var isDone = false
  }

  static let windowSeconds = 0.01
  private let state = Locked(State())

  /// Starts measuring.
  init() {
    let thread = Thread { [state] in
      let first = CPUSampler.reading()
      var last = first
      var usage = Usage()
      while !state.withLock({ $0.isStopped }) {
        Thread.sleep(forTimeInterval: max(0.0001, last.wall + CPUSampler.windowSeconds - WallTime.now))
        let now = CPUSampler.reading()
        usage.peak = max(usage.peak, (now.cpu - last.cpu) / max(now.wall - last.wall, CPUSampler.windowSeconds))
        usage.windowCount += 1
        last = now
      }
      usage.total = last.cpu - first.cpu
      state.withLock { state in
        state.usage = usage
        state.isDone = true
      }
    }
    thread.qualityOfService = .userInteractive
    thread.start()
  }

  /// Ends with the current window, and returns the results.
  func stop() -> Usage {
    state.withLock { $0.isStopped = true }
    while !state.withLock({ $0.isDone }) { usleep(1000) }
    return state.withLock { $0.usage }
  }

  private static func reading() -> (wall: Double, cpu: Double) {
    (WallTime.now, CPUTime.process - CPUTime.thread)
  }
}
