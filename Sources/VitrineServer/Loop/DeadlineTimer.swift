/// Wakes a loop each second as long as it has connections with a deadline. A loop without deadlines is never woken for
/// them.
///
/// Used on the thread of the loop.
struct DeadlineTimer {
  private var connectionCount = 0
  private var isPending = false
  private var event: Event?

  /// Adds to the number of connections with a deadline.
  mutating func note(_ change: Int, _ loop: EventLoop) {
    connectionCount += change
    startIfNeeded(loop)
  }

  /// Waits for the next second. Called after the loop has checked the deadlines.
  mutating func restart(_ loop: EventLoop) {
    isPending = false
    startIfNeeded(loop)
  }

  private mutating func startIfNeeded(_ loop: EventLoop) {
    guard connectionCount > 0, !isPending else { return }
    isPending = true
    if event == nil { event = loop.event(-1, [], loop) { loop, _ in loop.checkDeadlines() } }
    event?.add(milliseconds: 1000)
  }

  /// Releases the event. Called before the end of the loop.
  func free() { event?.free() }
}
