/// Work that is done once for all who ask for it while it is under way.
///
/// It runs in a task of its own, with the highest priority of those who wait. Whoever is cancelled stops waiting and gets
/// `CancellationError`, once; with the last of them the work is cancelled, and who asks then begins it anew. Safe from any
/// thread; O(1), but for changes of priority, which are O(waiting).
final class JoinedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Priority = ImageRequest.Priority

  private struct Waiter {
    var priority: Priority
    var continuation: CheckedContinuation<Void, Never>?
  }

  private struct Job {
    let number: Int
    let interest: Interest
    var waiters: [Int: Waiter] = [:]
    var hasBegun = false
    var task: Task<Void, Never>?

    var priority: Priority { waiters.values.map(\.priority).max() ?? .preheating }
  }

  private struct State {
    var jobs: [Key: Job] = [:]
    /// For waiters whose job has ended, until they fetch theirs.
    var results: [Int: Result<Value, any Error>] = [:]
    /// Of jobs and waiters.
    var nextNumber = 0

    mutating func number() -> Int {
      nextNumber += 1
      return nextNumber
    }
  }

  private let state = Locked(State())

  /// How many different things are under way.
  var count: Int { state.withLock { $0.jobs.count } }
  /// How many wait for them; not those who have joined and are on their way to wait.
  var waiterCount: Int {
    state.withLock { state in
      state.jobs.values.reduce(0) { $0 + $1.waiters.values.count { $0.continuation != nil } }
    }
  }

  /// The value for `key`: of the work that is under way, else of `work`, which is begun. `interest` is the caller's own, if
  /// its priority may still change.
  func value(
    for key: Key, interest: Interest, _ work: @escaping @Sendable (Interest) async throws -> Value
  ) async throws -> Value {
    let (waiter, job) = join(key, interest.priority)
    interest.follow { self.takePriority(of: waiter, $0, key, job) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The first who is there to wait begins it: whoever asked first may have left again.
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
    // Who was cancelled has none.
    return try state.withLock { $0.results.removeValue(forKey: waiter) ?? .failure(CancellationError()) }.get()
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
      // The last may have left by now.
      guard let job = state.jobs[key], job.number == number else { return }
      state.jobs[key]?.task = Task { [interest = job.interest] in
        let result: Result<Value, any Error>
        do { result = .success(try await work(interest)) } catch { result = .failure(error) }
        self.end(key, number, result)
      }
    }
  }

  private func end(_ key: Key, _ number: Int, _ result: Result<Value, any Error>) {
    let waiters = state.withLock { state -> [Waiter] in
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
      return (left, job.waiters.isEmpty ? job.task : nil)
    }
    tellPriority(key, number)
    task?.cancel()
    left?.continuation?.resume()
  }

  private func takePriority(of waiter: Int, _ interest: Interest, _ key: Key, _ number: Int) {
    state.withLock { state in
      guard var job = state.jobs[key], job.number == number, job.waiters[waiter] != nil else { return }
      // Asked for with the lock held: of two changes at a time the later one may be told first.
      job.waiters[waiter]?.priority = interest.priority
      state.jobs[key] = job
    }
    tellPriority(key, number)
  }

  /// Outside the lock, since who follows may ask this again; so until what was told is still true.
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

/// How much something is wanted, which may change while it is under way.
final class Interest: Sendable {
  typealias Priority = ImageRequest.Priority

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

  /// Calls `follower` with this at every change from now on, on the thread that makes it, and once at once. Of two changes
  /// at a time the later one may be told first: who must not end with the wrong one asks for ``priority`` where they keep it.
  /// What `follower` holds is held as long as this; it must not hold this.
  func follow(_ follower: @escaping @Sendable (Interest) -> Void) {
    state.withLock { $0.followers.append(follower) }
    follower(self)
  }
}
