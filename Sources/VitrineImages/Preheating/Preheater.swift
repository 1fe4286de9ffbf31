import Dispatch

/// Makes pictures ready before somebody asks for them, and never at the cost of somebody who does.
///
/// First in, first out; what is wanted twice is loaded once. Nothing begins while a request is under way, nor within a
/// moment after the last, nor within that moment after it was asked for: requests of the same tick go first. Few at a time.
/// What a request has answered meanwhile leaves the queue. Safe from any thread.
final class Preheater: Sendable {
  /// What is made ready: requests with the same are one.
  struct Wish: Hashable, Sendable {
    let key: KeyText
    let style: ImageStyle

    init(_ request: ImageRequest) { self.init(request.key, request.style) }

    init(_ key: String, _ style: ImageStyle) {
      self.key = KeyText(key)
      self.style = style
    }
  }

  typealias Load = @Sendable (ImageRequest, PreheatDestination) async throws -> Void

  private struct State {
    var queue: PreheatQueue
    var requestCount = 0
    /// No request is under way, and the pause behind the last is over.
    var isQuiet = true
    var pauseEnd: UInt64 = 0
    var timer: (time: UInt64, task: Task<Void, Never>)?

    /// When there may be something to begin that may not begin now.
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

  /// `load` is called with the priority `preheating`, and cancelled when the wish is taken back and not made again within
  /// the grace: whoever scrolls back and forth would download the same twice, and throw half of it away. It is called once
  /// more for a wish for the storage that became one for memory meanwhile.
  ///
  /// `admit` is told whether what `load` has begun may begin its next step, one call at a time and whenever that changes; it
  /// must not call back. Milliseconds are taken as 0 to 2^40, some 35 years.
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

  func start(_ requests: [ImageRequest], into destination: PreheatDestination = .memory) {
    let time = Preheater.now + pauseNanoseconds
    state.withLock { $0.queue.add(requests, destination, notBefore: time) }
    proceed()
  }

  func stop(_ requests: [ImageRequest]) {
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

  /// Wishes that have not begun, in their order.
  var waiting: [ImageRequest] { state.withLock { $0.queue.waitingRequests } }

  /// How many wishes have begun.
  var runningCount: Int { state.withLock { $0.queue.runningCount } }

  /// Requests that are under way.
  var requestCount: Int { state.withLock { $0.requestCount } }

  // MARK: Requests

  /// Somebody asks for a picture. Each call is followed by one of ``requestEnded(_:hasSucceeded:)``.
  func requestBegan() {
    state.withLock { state in
      state.requestCount += 1
      guard state.isQuiet else { return }
      state.isQuiet = false
      admit(false)
    }
  }

  func requestEnded(_ request: ImageRequest, hasSucceeded: Bool) {
    let time = Preheater.now + pauseNanoseconds
    state.withLock { state in
      if hasSucceeded { state.queue.forget(Wish(request)) }
      state.requestCount -= 1
      state.pauseEnd = max(state.pauseEnd, time)
    }
    setTimer()
  }

  /// One that is no reason to hold anything up has been answered.
  func answered(_ request: ImageRequest) { state.withLock { $0.queue.forget(Wish(request)) } }

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

  /// One timer for all that is to come. It may find that it is too early by now; then it is set anew.
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
