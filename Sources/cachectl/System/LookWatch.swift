import CacheCtlKit
import Glibc
import Vitrine

/// Tracks the place that each thread of an exploration inspects. If an inspection traps or does not end, prints the
/// command that repeats it.
final class LookWatch: Sendable {
  /// The start of each inspection, by the monotonic clock; nil between two inspections.
  private let began: Guarded<[UInt64?]>
  private let lines: Lines

  /// On an idle machine, an inspection takes less than 1 % of this.
  private static let longestSeconds: UInt64 = 120

  init(threads: Int, seed: UInt64) throws(Failure) {
    began = Guarded(Array(repeating: nil, count: threads))
    lines = Lines(count: threads, seed: seed)
    Traps.listen(lines)
    // It lives as long as the process, and so does the thread.
    try Threads.start { [self] in
      while true {
        sleep(5)
        expectProgress()
      }
    }
  }

  func enter(_ place: String?, _ thread: Int) {
    lines.set(place, thread)
    began.withLock { $0[thread] = place == nil ? nil : Time.monotonicNanoseconds() }
  }

  private func expectProgress() {
    let longest = LookWatch.longestSeconds * 1_000_000_000
    let hanging = began.withLock { began in
      // Read under the lock: no inspection has begun later.
      let now = Time.monotonicNanoseconds()
      return began.indices.filter { now - (began[$0] ?? now) > longest }
    }
    guard !hanging.isEmpty else { return }
    Diagnostics.write("\nVIOLATION: nothing has happened for \(LookWatch.longestSeconds) seconds\n")
    for thread in hanging { lines.tell(thread) }
    _exit(ExitStatus.problemFound.rawValue)
  }
}

/// A line for each thread in memory that never moves, so that a signal handler can read it.
///
/// Invariant: a line has one writer, its own thread. A reader ends the process, so a torn line does no harm.
private struct Lines: @unchecked Sendable {
  let count: Int
  private let seed: UInt64
  private let memory: UnsafeMutablePointer<UInt8>
  private static let width = 400

  init(count: Int, seed: UInt64) {
    self.count = count
    self.seed = seed
    memory = .allocate(capacity: count * Lines.width)
    memory.initialize(repeating: 0, count: count * Lines.width)
  }

  /// Each thread has its own line.
  func set(_ place: String?, _ thread: Int) {
    let line = memory + thread * Lines.width
    line.pointee = 0
    guard let place else { return }
    let bytes = Array("  again: \(CrashReportText.again(place, seed: seed))\n".utf8.prefix(Lines.width - 1))
    for (offset, byte) in bytes.enumerated().reversed() { line[offset] = byte }
    line[bytes.count] = 0
  }

  /// Async-signal-safe.
  func tell(_ thread: Int) {
    let line = memory + thread * Lines.width
    var length = 0
    while length < Lines.width, line[length] != 0 { length += 1 }
    _ = Glibc.write(STDERR_FILENO, line, length)
  }
}

/// Signals that end the process.
private enum Traps {
  private static let numbers = [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV, SIGBUS]
  /// Invariant: set once, before the handlers that read it are installed.
  nonisolated(unsafe) private static var lines: Lines?
  /// The previous handlers, by number.
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)

  static func listen(_ lines: Lines) {
    Traps.lines = lines
    for number in numbers {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { number in
        if let lines = Traps.lines { for thread in 0..<lines.count { lines.tell(thread) } }
        // The signal recurs when this returns, and ends the process as usual.
        sigaction(number, Traps.former + Int(number), nil)
      }
      sigaction(number, &action, former + Int(number))
    }
  }
}
