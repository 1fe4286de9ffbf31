import Synchronization

/// A picture that a connection waits for. Thread-safe.
final class PendingPicture: Sendable {
  /// The entity tags that the client has.
  let knownTags: String?
  private let begin = Time.monotonicNanoseconds()
  private let state = Mutex(State())

  private struct State {
    var answer: PictureAnswer?
    var task: Task<Void, Never>?
    var isCanceled = false
  }

  init(knownTags: String?) { self.knownTags = knownTags }

  /// The nanoseconds since the request.
  var elapsed: UInt64 { Time.monotonicNanoseconds() &- begin }

  /// The answer; nil until it is there.
  var answer: PictureAnswer? { state.withLock { $0.answer } }

  /// Starts a task that makes the picture and then calls `wake`.
  func start(_ query: PictureQuery, _ maker: any PictureMaking, wake: @escaping @Sendable () -> Void) {
    let task = Task.detached { [self] in
      let answer = await maker.picture(query)
      let isAwaited = state.withLock { state in
        if state.isCanceled { return false }
        state.answer = answer
        return true
      }
      if isAwaited { wake() }
    }
    let isCanceled = state.withLock { state in
      state.task = task
      return state.isCanceled
    }
    if isCanceled { task.cancel() }
  }

  /// Cancels the task: the client has left.
  func cancel() {
    let task = state.withLock { state in
      state.isCanceled = true
      return state.task
    }
    task?.cancel()
  }
}
