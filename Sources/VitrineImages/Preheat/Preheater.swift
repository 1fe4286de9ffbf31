import Dispatch

/// Loads pictures ahead of their requests, without delaying requests.
///
/// Works in order of arrival. A request made twice is loaded once. No load begins while a request is under way, within
/// a pause after the last one, or within the same pause after its own start, so requests of the same moment run first.
/// The number of concurrent loads is limited. A picture that a request loads in the meantime leaves the queue.
/// Thread-safe.
final class Preheater: Sendable {
  /// The identity of a preheating: requests with the same key and style count as one.
  struct Wish: Hashable, Sendable {
    let key: KeyText
    let style: ImageStyle

    init(_ request: PictureRequest) { self.init(request.key, request.style) }

    init(_ key: String, _ style: ImageStyle) {
      self.key = KeyText(key)
      self.style = style
    }
  }

  typealias Load = @Sendable (PictureRequest, PreheatDestination) async throws -> Void

  private struct State {
    var queue: PreheatQueue
    var requestCount = 0
    /// Whether no request is under way and the pause after the last one has ended.
    var isQuiet = true
    var pauseEnd: UInt64 = 0
    var timer: (time: UInt64, task: Task<Void, Never>)?

    /// The time to check again for a start, or nil if an event must come first.
    var nextTime: UInt64? {
      if requestCount > 0 { return nil }
      return isQuiet ? queue.nextTime : pauseEnd
    }
  }

  private let state: Locked<State>
  private let pauseNanoseconds: UInt64
  private let graceNanoseconds: UInt64
  private let admit: @Sendable (Bool) -> Void
  private let load: Load

  /// Creates a preheater.
  ///
  /// - Parameters:
  ///   - limit: The number of concurrent loads.
  ///   - pauseMilliseconds: The pause after a request or a start before a load begins.
  ///   - graceMilliseconds: The delay from a stop to the cancellation, unless the request is started again. It spares
  ///     a user that scrolls back and forth a second download.
  ///   - admit: Called with false when running loads must not begin their next step, and with true when they may
  ///     again. Calls do not overlap, and must not call the preheater.
  ///   - load: Called with requests of the priority `preheating`, and canceled after the grace. Called again if a
  ///     request for the storage has become one for memory.
  ///
  /// Milliseconds are clamped to 0 to 2^40, about 35 years.
  init(
    limit: Int = 2, pauseMilliseconds: Int = 150, graceMilliseconds: Int = 500,
    admit: @escaping @Sendable (Bool) -> Void = { _ in }, load: @escaping Load
  ) {
    state = Locked(State(queue: PreheatQueue(limit: limit)))
    pauseNanoseconds = Preheater.nanoseconds(pauseMilliseconds)
    graceNanoseconds = Preheater.nanoseconds(graceMilliseconds)
    self.admit = admit
    self.load = load
  }

  deinit { state.withLock { $0.timer?.task.cancel() } }

  private static func nanoseconds(_ milliseconds: Int) -> UInt64 {
    UInt64(min(max(milliseconds, 0), 1 << 40)) * 1_000_000
  }
  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  // MARK: Wishes

  func start(_ requests: [PictureRequest], into destination: PreheatDestination = .memory) {
    let time = Preheater.now + pauseNanoseconds
    state.withLock { $0.queue.add(requests, destination, notBefore: time) }
    proceed()
  }

  func stop(_ requests: [PictureRequest]) {
    guard let stop = state.withLock({ $0.queue.giveUp(requests.lazy.map(Wish.init)) }) else { return }
    Task {
      try? await Task.sleep(nanoseconds: graceNanoseconds)
      for task in state.withLock({ $0.queue.end(givenUpBy: stop) }) { task.cancel() }
      proceed()
    }
  }

  func stopAll() {
    for task in state.withLock({ $0.queue.removeAll() }) { task.cancel() }
  }

  /// Waiting requests, in order.
  var waiting: [PictureRequest] { state.withLock { $0.queue.waitingRequests } }

  /// The number of running loads.
  var runningCount: Int { state.withLock { $0.queue.runningCount } }

  /// The number of requests under way.
  var requestCount: Int { state.withLock { $0.requestCount } }

  // MARK: Requests

  /// Records that a request began. Each call is followed by one of ``requestEnded(_:hasSucceeded:)``.
  func requestBegan() {
    state.withLock { state in
      state.requestCount += 1
      guard state.isQuiet else { return }
      state.isQuiet = false
      admit(false)
    }
  }

  func requestEnded(_ request: PictureRequest, hasSucceeded: Bool) {
    let time = Preheater.now + pauseNanoseconds
    state.withLock { state in
      if hasSucceeded { state.queue.forget(Wish(request)) }
      state.requestCount -= 1
      state.pauseEnd = max(state.pauseEnd, time)
    }
    setTimer()
  }

  /// Records the end of a request that did not hold preheating back.
  func answered(_ request: PictureRequest) { state.withLock { $0.queue.forget(Wish(request)) } }

  // MARK: Loading

  private func proceed() {
    while let run = state.withLock({ $0.isQuiet ? $0.queue.begin(at: Preheater.now) : nil }) {
      let task = Task {
        var destination = run.destination
        while true {
          try? await load(run.request, destination)
          guard let other = state.withLock({ $0.queue.end(run, at: destination) }) else { break }
          destination = other
        }
        proceed()
      }
      let isWanted = state.withLock { $0.queue.note(task, of: run) }
      if !isWanted { task.cancel() }
    }
    setTimer()
  }

  /// Sets the single timer. If it fires too early because the pause was extended, it is set again.
  private func setTimer() {
    state.withLock { state in
      guard let time = state.nextTime else { return }
      if let timer = state.timer {
        if timer.time <= time { return }
        timer.task.cancel()
      }
      let task = Task { [weak self] in
        let now = Preheater.now
        if time > now { try? await Task.sleep(nanoseconds: time - now) }
        if !Task.isCancelled { self?.wake() }
      }
      state.timer = (time, task)
    }
  }

  private func wake() {
    state.withLock { state in
      state.timer = nil
      guard !state.isQuiet, state.requestCount == 0, state.pauseEnd <= Preheater.now else { return }
      state.isQuiet = true
      admit(true)
    }
    proceed()
  }
}
