/// A thread that populates pages for puts, shared by all stores of the process. The thread starts with the first
/// request, and ends after about 5 s without a request.
///
/// Any thread. The lock is held for a few instructions, or until a thread is started.
final class PagePopulator: Sendable {
  private static let ofProcess = PerProcess { PagePopulator() }

  /// The populator of this process.
  static var shared: PagePopulator { ofProcess.current }

  private static let idleMilliseconds = 5000

  private let state = Monitored(State())

  private struct State {
    /// The oldest request is the first. A request does not keep its window in memory.
    var requests: [Request] = []
    var hasThread = false
  }

  private struct Request {
    weak var window: FillWindow?
  }

  /// Has ``FillWindow/populateAhead()`` called soon. Returns false if no thread can be started.
  func request(_ window: FillWindow) -> Bool {
    state.withLock { held in
      if !held.value.hasThread {
        guard DetachedThread.start({ self.work() }) == 0 else { return false }
        held.value.hasThread = true
      }
      held.value.requests.append(Request(window: window))
      held.signal()
      return true
    }
  }

  private func work() {
    DetachedThread.blockSignals()
    state.withLock { held in
      while true {
        if held.value.requests.isEmpty { held.wait(milliseconds: PagePopulator.idleMilliseconds) }
        guard let request = held.value.requests.first else { break }
        held.value.requests.removeFirst()
        held.unlocked { request.window?.populateAhead() }
      }
      held.value.hasThread = false
    }
  }
}
