// Group commit for async calls, which hold no thread while they wait. An async change runs on the pool up to its frame.
// If it must wait for the disk, it adds an entry to a list. One job of the pool, the leader, makes the frames of all
// entries durable.

/// Changes with stored frames that wait for the disk, and whether a leader is queued or running.
///
/// Invariant: while the list is not empty, there is a leader. So each wait ends when its frame is durable or with the
/// error of the sync. The leader references the store, so waits end even if the store is closed or released.
struct AwaitedFrames {
  private var waits: [Wait] = []
  private var isLed = false

  struct Wait {
    let sequence: UInt64
    let end: @Sendable (Result<Void, StoreError>) -> Void
  }

  /// Adds a wait. Returns true if the caller must start a leader.
  mutating func add(_ wait: Wait) -> Bool {
    waits.append(wait)
    defer { isLed = true }
    return !isLed
  }

  /// Takes all waits from the list, for the leader.
  mutating func take() -> [Wait] {
    defer { waits = [] }
    return waits
  }

  /// Ends the leader's turn. Returns true if there are new waits; then the leader must be started again.
  mutating func endLeading() -> Bool {
    isLed = !waits.isEmpty
    return isLed
  }
}
