/// Work that runs once for all callers that ask for it while it runs.
///
/// It runs in its own task, with the highest priority of its waiters. A canceled waiter throws `CancellationError` and
/// leaves. When the last waiter leaves, the work is canceled, and the next caller starts it again. Thread-safe. O(1),
/// except changes of priority, which are O(waiters).
final class JoinedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Priority = PictureRequest.Priority

  private struct Waiter {
    var priority: Priority
    var continuation: CheckedContinuation<Void, Never>?
  }

  private struct Job {
    let number: Int
    let interest: Interest
    var waiters: [Int: Waiter] = [:]
    var hasBegun = false

    var priority: Priority { waiters.values.map(\.priority).max() ?? .preheating }
  }

  private struct State {
    var jobs: [Key: Job] = [:]
    /// Results of ended jobs, until their waiters fetch them.
    var results: [Int: Result<Value, any Error>] = [:]
    /// The tasks of all jobs that have begun and whose work has not ended, also of those that every waiter has left.
    var tasks: [Int: Task<Void, Never>] = [:]
    /// The next number of a job or waiter.
    var nextNumber = 0

    mutating func number() -> Int {
      nextNumber += 1
      return nextNumber
    }
  }

  private let state = Locked(State())

  /// The number of jobs.
  var count: Int { state.withLock { $0.jobs.count } }
  /// The number of suspended waiters. A caller that joined but is not suspended yet does not count.
  var waiterCount: Int {
    state.withLock { state in
      state.jobs.values.reduce(0) { $0 + $1.waiters.values.count { $0.continuation != nil } }
    }
  }

  /// Returns the value for `key`: from the job under way, or else from a new one that runs `work`. The caller's
  /// priority follows `interest`.
  func value(
    for key: Key, interest: Interest, _ work: @escaping @Sendable (Interest) async throws -> Value
  ) async throws -> Value {
    let (waiter, job) = join(key, interest.priority)
    interest.follow { self.takePriority(of: waiter, $0, key, job) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The first caller that suspends starts the work, since the first caller that joined may have been canceled.
        let (waits, begins) = state.withLock { state in
          guard var found = state.jobs[key], found.number == job, found.waiters[waiter] != nil else {
            return (false, false)
          }
          let begins = !found.hasBegun
          found.waiters[waiter]?.continuation = continuation
          found.hasBegun = true
          state.jobs[key] = found
          return (true, begins)
        }
        if !waits { continuation.resume() }
        if begins { begin(key, job, work) }
      }
    } onCancel: {
      leave(waiter, key, job)
    }
    // A canceled waiter has no result.
    return try state.withLock { $0.results.removeValue(forKey: waiter) ?? .failure(CancellationError()) }.get()
  }

  /// Returns when the work of all jobs has ended, also of those that every waiter has left.
  func end() async {
    while let task = state.withLock({ $0.tasks.values.first }) { await task.value }
  }

  private func join(_ key: Key, _ priority: Priority) -> (waiter: Int, job: Int) {
    let result = state.withLock { state in
      let waiter = state.number()
      var job = state.jobs[key] ?? Job(number: state.number(), interest: Interest(priority))
      job.waiters[waiter] = Waiter(priority: priority)
      state.jobs[key] = job
      return (waiter, job.number)
    }
    tellPriority(key, result.1)
    return result
  }

  private func begin(_ key: Key, _ number: Int, _ work: @escaping @Sendable (Interest) async throws -> Value) {
    state.withLock { state in
      // The last waiter may have left in the meantime.
      guard let job = state.jobs[key], job.number == number else { return }
      // The task removes itself under the lock, so not before it is entered here.
      state.tasks[number] = Task { [interest = job.interest] in
        let result: Result<Value, any Error>
        do { result = .success(try await work(interest)) } catch { result = .failure(error) }
        self.end(key, number, result)
      }
    }
  }

  private func end(_ key: Key, _ number: Int, _ result: Result<Value, any Error>) {
    let waiters = state.withLock { state -> [Waiter] in
      state.tasks[number] = nil
      guard let job = state.jobs[key], job.number == number else { return [] }
      state.jobs[key] = nil
      for waiter in job.waiters.keys { state.results[waiter] = result }
      return Array(job.waiters.values)
    }
    for waiter in waiters { waiter.continuation?.resume() }
  }

  private func leave(_ waiter: Int, _ key: Key, _ number: Int) {
    let (left, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
      guard var job = state.jobs[key], job.number == number, let left = job.waiters.removeValue(forKey: waiter) else {
        state.results[waiter] = nil
        return (nil, nil)
      }
      state.jobs[key] = job.waiters.isEmpty ? nil : job
      return (left, job.waiters.isEmpty ? state.tasks[number] : nil)
    }
    tellPriority(key, number)
    task?.cancel()
    left?.continuation?.resume()
  }

  private func takePriority(of waiter: Int, _ interest: Interest, _ key: Key, _ number: Int) {
    state.withLock { state in
      guard var job = state.jobs[key], job.number == number, job.waiters[waiter] != nil else { return }
      // Reads the priority under the lock, because the calls for two concurrent changes may arrive in either order.
      job.waiters[waiter]?.priority = interest.priority
      state.jobs[key] = job
    }
    tellPriority(key, number)
  }

  /// Calls followers outside the lock, since they may call this function again. Repeats until the last priority it set
  /// is current.
  private func tellPriority(_ key: Key, _ number: Int) {
    var told: Priority?
    while true {
      let job = state.withLock { $0.jobs[key] }
      guard let job, job.number == number, job.priority != told else { return }
      told = job.priority
      job.interest.set(job.priority)
    }
  }
}

/// The priority of a piece of work, which may change while the work runs.
final class Interest: Sendable {
  typealias Priority = PictureRequest.Priority

  private struct State {
    var priority: Priority
    var followers: [@Sendable (Interest) -> Void] = []
  }

  private let state: Locked<State>

  init(_ priority: Priority) { state = Locked(State(priority: priority)) }

  var priority: Priority { state.withLock { $0.priority } }

  func set(_ priority: Priority) {
    let followers = state.withLock { state -> [@Sendable (Interest) -> Void] in
      if state.priority == priority { return [] }
      state.priority = priority
      return state.followers
    }
    for follower in followers { follower(self) }
  }

  /// Calls `follower` immediately, and after every change on the thread that made it. The calls for two concurrent
  /// changes may arrive in either order, so a follower reads ``priority`` under its own lock. This object keeps
  /// `follower` alive, so `follower` must not hold a reference to it.
  func follow(_ follower: @escaping @Sendable (Interest) -> Void) {
    state.withLock { $0.followers.append(follower) }
    follower(self)
  }
}
