// Group commit for calls that hold no thread while they wait. An async change runs on the pool up to its frame. What waits
// for the disk then is an entry in a list, and one job of the pool, the leader, makes the frames of all entries durable.

/// Changes whose frames are stored and that wait for the disk, and whether a leader is queued or at work.
///
/// Invariant: while there are waits, there is a leader. So each wait ends, when its frame is durable or with the error of the
/// sync. The leader holds the store, so a closed or released store still ends its waits.
struct AwaitedFrames {
  private var waits: [Wait] = []
  private var isLed = false

  struct Wait {
    let sequence: UInt64
    let end: @Sendable (Result<Void, StoreError>) -> Void
  }

  /// True when a leader has to be started.
  mutating func add(_ wait: Wait) -> Bool {
    waits.append(wait)
    defer { isLed = true }
    return !isLed
  }

  /// All waits by now, for the leader.
  mutating func take() -> [Wait] {
    defer { waits = [] }
    return waits
  }

  /// The leader is done. True when waits have come meanwhile: then it has to be started again.
  mutating func endLeading() -> Bool {
    isLed = !waits.isEmpty
    return isLed
  }
}
