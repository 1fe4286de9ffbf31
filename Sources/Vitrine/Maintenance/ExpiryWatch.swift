import Synchronization

/// Steps of the wall clock since the opening, and whether entries have to be looked at anew because of one.
/// Any thread may call.
final class ExpiryWatch: @unchecked Sendable {
  /// Clocks that are corrected by less have not stepped.
  static let tolerance: Int64 = 60_000

  private struct ClockState {
    /// Wall minus monotonic time, the most there was since `steady`.
    var lead: Int64
    /// Since when the wall clock has not stepped back, in monotonic nanoseconds.
    var steady: UInt64
  }

  private let clock: any Clock
  private let state: Guarded<ClockState>
  /// The notes of the expiry index do not hold for all entries: after an opening, and after a step of the clock.
  private let isIncomplete = Atomic<Bool>(true)

  init(clock: any Clock) {
    self.clock = clock
    let now = clock.monotonicNanoseconds()
    state = Guarded(ClockState(lead: ExpiryWatch.lead(clock.wallMilliseconds(), now), steady: now))
  }

  private static func lead(_ wall: Int64, _ monotonic: UInt64) -> Int64 {
    wall &- Int64(truncatingIfNeeded: monotonic / 1_000_000)
  }

  /// The expiry index has to note every entry again.
  func noteIncomplete() { isIncomplete.store(true, ordering: .relaxed) }

  /// Whether it has to; the caller does it then.
  func takeIncomplete() -> Bool {
    _ = millisecondsSinceLastStep()
    guard isIncomplete.load(ordering: .relaxed) else { return false }
    return isIncomplete.exchange(false, ordering: .relaxed)
  }

  /// Since the wall clock was found set back, or else since the opening.
  func millisecondsSinceLastStep() -> Int64 {
    let now = clock.monotonicNanoseconds()
    let lead = ExpiryWatch.lead(clock.wallMilliseconds(), now)
    return state.withLock { state in
      if lead < state.lead &- ExpiryWatch.tolerance {
        state = ClockState(lead: lead, steady: now)
        noteIncomplete()  // Times by the old clock say nothing any more.
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
