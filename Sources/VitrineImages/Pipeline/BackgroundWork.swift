/// Tasks that no caller waits for at first. Thread-safe.
final class BackgroundWork: Sendable {
  private struct State {
    var tasks: [Int: Task<Void, Never>] = [:]
    var lastNumber = 0
  }

  private let state = Locked(State())

  func begin(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      state.lastNumber += 1
      let number = state.lastNumber
      // The task removes itself under the lock, so not before it is entered here.
      state.tasks[number] = Task {
        await body()
        self.state.withLock { $0.tasks[number] = nil }
      }
    }
  }

  /// Returns once no task is left. If the calling task is canceled, cancels all tasks, and waits for their ends.
  func end() async {
    await withTaskCancellationHandler {
      while let task = state.withLock({ $0.tasks.values.first }) {
        await task.value
        if Task.isCancelled { cancelAll() }
      }
    } onCancel: {
      cancelAll()
    }
  }

  private func cancelAll() {
    let tasks = state.withLock { Array($0.tasks.values) }
    for task in tasks { task.cancel() }
  }
}
