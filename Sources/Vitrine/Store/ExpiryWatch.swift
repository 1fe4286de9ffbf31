import Synchronization

/// Where the sweep for expired entries is, and what the clock has done since the store was opened.
///
/// `note` and `millisecondsSinceLastStep` may be called from any thread, the rest under the upkeep lock.
final class ExpiryWatch: @unchecked Sendable {
  /// Clocks that are corrected by less have not stepped.
  static let tolerance: Int64 = 60_000
  /// Records that one step of a sweep looks at.
  static let step = 1000
  private static let shortestPause: UInt64 = 60_000_000_000

  private struct ClockState {
    /// Wall minus monotonic time, the most there was since `steady`.
    var lead: Int64
    /// Since when the wall clock has not stepped back, in monotonic nanoseconds.
    var steady: UInt64
  }

  private let clock: any Clock
  private let state: Guarded<ClockState>
  /// The earliest moment, in milliseconds since 1970, at which a known entry may expire: unknown after an opening.
  private let due = Atomic<Int64>(.min)

  // Guarded by the upkeep lock. Moments are monotonic nanoseconds.
  private var sweepBegan: UInt64?
  private var nextSweep: UInt64
  private var nextShard = 0
  private var entries: [(slot: KeySlot, hash: KeyHash)] = []

  init(clock: any Clock) {
    self.clock = clock
    let now = clock.monotonicNanoseconds()
    state = Guarded(ClockState(lead: ExpiryWatch.lead(clock.wallMilliseconds(), now), steady: now))
    nextSweep = now &+ ExpiryWatch.shortestPause
  }

  private static func lead(_ wall: Int64, _ monotonic: UInt64) -> Int64 {
    wall &- Int64(truncatingIfNeeded: monotonic / 1_000_000)
  }

  /// An entry may expire at `moment`.
  func note(_ moment: Int64) { due.min(moment, ordering: .relaxed) }

  /// Since the wall clock was found set back, or else since the opening.
  func millisecondsSinceLastStep() -> Int64 {
    let now = clock.monotonicNanoseconds()
    let lead = ExpiryWatch.lead(clock.wallMilliseconds(), now)
    return state.withLock { state in
      if lead < state.lead &- ExpiryWatch.tolerance {
        state = ClockState(lead: lead, steady: now)
        note(.min)  // What was due by the old clock is to be found out anew.
      }
      state.lead = max(state.lead, lead)
      return Int64(clamping: (now &- state.steady) / 1_000_000)
    }
  }

  /// Whether a sweep is on its way, or is begun now because something is due.
  func beginsOrGoesOn(shortestLimit: Int64) -> Bool {
    _ = millisecondsSinceLastStep()
    if sweepBegan != nil { return true }
    let now = clock.monotonicNanoseconds()
    let wall = clock.wallMilliseconds()
    guard due.load(ordering: .relaxed) <= wall, nextSweep <= now else { return false }
    // What is put from here on is not due before this, or notes itself.
    due.store(shortestLimit == 0 ? .max : saturatingSum(wall, shortestLimit), ordering: .relaxed)
    sweepBegan = now
    nextShard = 0
    return true
  }

  /// The next entry that may expire (`all` may, or those with an expiry); nil at the sweep's end.
  func next(_ keys: KeyTable, all: Bool) -> (slot: KeySlot, hash: KeyHash)? {
    while entries.isEmpty, nextShard < KeyTable.shardCount {
      keys.forEach(shard: nextShard) { slot in
        if all || slot.flags.contains(.expires) { entries.append((slot, slot.hash(shard: nextShard))) }
      }
      nextShard += 1
    }
    if let last = entries.popLast() { return last }
    entries = []
    if let began = sweepBegan {
      // A sweep takes a tenth of the time at most.
      let now = clock.monotonicNanoseconds()
      nextSweep = now &+ max(ExpiryWatch.shortestPause, 9 &* (now &- began))
    }
    sweepBegan = nil
    return nil
  }
}

func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 {
  let (sum, overflow) = a.addingReportingOverflow(b)
  return overflow ? (b > 0 ? .max : .min) : sum
}
