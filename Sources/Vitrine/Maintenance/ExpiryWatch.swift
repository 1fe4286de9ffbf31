import Synchronization

/// Detects steps back of the wall clock. Remembers whether all entries must be noted again in the expiry index.
/// Thread-safe.
final class ExpiryWatch: Sendable {
  /// Milliseconds. A smaller correction of the clock does not count as a step.
  static let tolerance: Int64 = 60_000

  private struct ClockState {
    /// The largest difference of wall and monotonic time since `steady`, in milliseconds.
    var lead: Int64
    /// The time since which the wall clock has not stepped back, in monotonic nanoseconds.
    var steady: UInt64
  }

  private let clock: any Clock
  private let state: Guarded<ClockState>
  /// Whether the expiry index lacks notes of some entries, as after an opening and after a step of the clock.
  private let isIncomplete = Atomic<Bool>(true)

  init(clock: any Clock) {
    self.clock = clock
    let now = clock.monotonicNanoseconds()
    state = Guarded(ClockState(lead: ExpiryWatch.lead(clock.wallMilliseconds(), now), steady: now))
  }

  private static func lead(_ wall: Int64, _ monotonic: UInt64) -> Int64 {
    wall &- Int64(truncatingIfNeeded: monotonic / 1_000_000)
  }

  /// Records that the expiry index must note every entry again.
  func noteIncomplete() { isIncomplete.store(true, ordering: .relaxed) }

  /// Clears the flag, and returns whether it was set. If so, the caller notes every entry again.
  func takeIncomplete() -> Bool {
    _ = millisecondsSinceLastStep()
    guard isIncomplete.load(ordering: .relaxed) else { return false }
    return isIncomplete.exchange(false, ordering: .relaxed)
  }

  /// Milliseconds since the wall clock was found set back, or else since the opening.
  func millisecondsSinceLastStep() -> Int64 {
    let now = clock.monotonicNanoseconds()
    let lead = ExpiryWatch.lead(clock.wallMilliseconds(), now)
    return state.withLock { state in
      if lead < state.lead &- ExpiryWatch.tolerance {
        state = ClockState(lead: lead, steady: now)
        noteIncomplete()  // Times by the old clock are invalid.
      }
      state.lead = max(state.lead, lead)
      return Int64(clamping: (now &- state.steady) / 1_000_000)
    }
  }
}

func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 {
  let (sum, overflow) = a.addingReportingOverflow(b)
  return overflow ? (b > 0 ? .max : .min) : sum
}
