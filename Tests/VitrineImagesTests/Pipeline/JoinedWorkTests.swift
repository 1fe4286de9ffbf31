import Foundation
import Testing

@testable import VitrineImages

@Suite struct JoinedWorkTests {
  typealias Work = JoinedWork<String, Int>

  /// Work that runs until it gets its result, and counts how often it was begun and canceled.
  private final class Controlled: Sendable {
    let state = Locked((begun: 0, cancelled: 0, result: Result<Int, any Error>?.none, interest: Interest?.none))

    var begun: Int { state.withLock { $0.begun } }
    var cancelled: Int { state.withLock { $0.cancelled } }
    var priority: PictureRequest.Priority? { state.withLock { $0.interest }?.priority }
    func finish(_ result: Result<Int, any Error>) { state.withLock { $0.result = result } }

    func run(_ interest: Interest) async throws -> Int {
      state.withLock {
        $0.begun += 1
        $0.interest = interest
      }
      while true {
        if Task.isCancelled {
          state.withLock { $0.cancelled += 1 }
          throw CancellationError()
        }
        if let result = state.withLock({ $0.result }) { return try result.get() }
        try? await Task.sleep(nanoseconds: 500_000)
      }
    }
  }

  private func ask(
    _ work: Work, _ controlled: Controlled, _ key: String = "a", _ interest: Interest = Interest(.normal)
  ) -> Task<Int, any Error> {
    Task { try await work.value(for: key, interest: interest, controlled.run) }
  }

  @Test func callerThatJoinsAsTheWorkEndsGetsItsResult() async throws {
    let (work, controlled) = (Work(), Controlled())
    let first = ask(work, controlled)
    try await until { controlled.begun == 1 }
    // The observer runs after the second caller has joined and before it waits. The work ends at that moment.
    let hasEnded = Locked(false)
    // Breaks the reference cycle between the interest and its observer.
    defer { controlled.state.withLock { $0.interest = nil } }
    controlled.state.withLock { $0.interest }?.follow { interest in
      if interest.priority != .high { return }
      controlled.finish(.success(7))
      holdUp { work.count == 0 }
      hasEnded.withLock { $0 = work.count == 0 }
    }
    let other = Controlled()
    // Runs on a thread of its own, because the observer blocks the thread.
    let second = Task.detached(executorPreference: ThreadExecutor()) {
      try await work.value(for: "a", interest: Interest(.high), other.run)
    }
    #expect(try await second.value == 7 && other.begun == 0)
    #expect(try await first.value == 7 && hasEnded.withLock { $0 })
  }

  @Test func allCallersGetTheSameResult() async throws {
    let (work, controlled) = (Work(), Controlled())
    let tasks = (0..<50).map { _ in ask(work, controlled) }
    let other = Controlled()
    let task = ask(work, other, "b")
    try await until { controlled.begun == 1 && other.begun == 1 && work.waiterCount == 51 }
    #expect(work.count == 2)
    controlled.finish(.success(7))
    other.finish(.success(8))
    for task in tasks { #expect(try await task.value == 7) }
    #expect(try await task.value == 8)
    #expect(controlled.begun == 1 && work.count == 0)
    // Results are not cached.
    #expect(try await ask(work, controlled).value == 7)
    #expect(controlled.begun == 2)
  }

  @Test func errorReachesAllCallers() async throws {
    let (work, controlled) = (Work(), Controlled())
    let tasks = (0..<5).map { _ in ask(work, controlled) }
    try await until { controlled.begun == 1 && work.waiterCount == 5 }
    controlled.finish(.failure(ImageError.outOfMemory(byteCount: 7)))
    for task in tasks { await #expect(throws: ImageError.outOfMemory(byteCount: 7)) { try await task.value } }
  }

  @Test func canceledCallerDoesNotCancelSharedWork() async throws {
    let (work, controlled) = (Work(), Controlled())
    let (first, second) = (ask(work, controlled), ask(work, controlled))
    try await until { controlled.begun == 1 && work.waiterCount == 2 }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(controlled.cancelled == 0 && work.count == 1)
    controlled.finish(.success(1))
    #expect(try await second.value == 1)
  }

  @Test func endOfAllWorkIncludesThatOfCallersWhoHaveLeft() async throws {
    let work = Work()
    let state = Locked((hasBegun: false, mayEnd: false, hasEnded: false))
    let task = Task {
      try await work.value(for: "a", interest: Interest(.normal)) { _ in
        state.withLock { $0.hasBegun = true }
        // Ignores its cancellation, as work on another thread does.
        while !state.withLock({ $0.mayEnd }) { await Task.yield() }
        state.withLock { $0.hasEnded = true }
        return 1
      }
    }
    try await until { state.withLock { $0.hasBegun } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(work.count == 0)
    let end = Task {
      await work.end()
      return state.withLock { $0.hasEnded }
    }
    state.withLock { $0.mayEnd = true }
    #expect(await end.value)
    await work.end()
  }

  @Test func lastCanceledCallerCancelsTheWorkAndTheNextStartsItAgain() async throws {
    let (work, controlled) = (Work(), Controlled())
    let tasks = [ask(work, controlled), ask(work, controlled)]
    try await until { controlled.begun == 1 && work.waiterCount == 2 }
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(work.count == 0)
    let next = ask(work, controlled)
    try await until { controlled.begun == 2 && controlled.cancelled == 1 }
    controlled.finish(.success(3))
    #expect(try await next.value == 3)
  }

  @Test func callerCanceledBeforeItsCallStartsNoWork() async throws {
    let (work, controlled) = (Work(), Controlled())
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await work.value(for: "a", interest: Interest(.high), controlled.run)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(controlled.begun == 0 && work.count == 0)
  }

  @Test func workHasTheHighestPriorityOfItsCallers() async throws {
    let (work, controlled) = (Work(), Controlled())
    let (low, high) = (Interest(.low), Interest(.high))
    let first = ask(work, controlled, "a", low)
    try await until { controlled.priority == .low }
    let second = ask(work, controlled, "a", high)
    try await until { controlled.priority == .high }
    second.cancel()
    try await until { controlled.priority == .low }
    low.set(.normal)
    #expect(controlled.priority == .normal)
    low.set(.preheating)
    #expect(controlled.priority == .preheating)
    controlled.finish(.success(1))
    #expect(try await first.value == 1)
  }

  @Test func delayedPriorityChangeDoesNotUndoALaterOne() async throws {
    let (work, controlled) = (Work(), Controlled())
    let interest = Interest(.normal)
    // This observer runs first. It changes the interest again before the work learns of the first change.
    interest.follow { if $0.priority == .low { $0.set(.high) } }
    let task = ask(work, controlled, "a", interest)
    try await until { controlled.priority == .normal }
    interest.set(.low)
    #expect(controlled.priority == .high)
    controlled.finish(.success(1))
    #expect(try await task.value == 1)
  }

  /// Each caller gets exactly one answer. A continuation resumed twice would trap, and one never resumed would hang.
  @Test(.timeLimit(.minutes(60))) func eachCallerGetsExactlyOneAnswer() async throws {
    let work = Work()
    let heard = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          let task = Task {
            try await work.value(for: "k\(number % 7)", interest: Interest(.normal)) { _ in
              try await Task.sleep(nanoseconds: UInt64(number % 5) * 300_000)
              return number % 7
            }
          }
          if number % 3 == 0 {
            try? await Task.sleep(nanoseconds: UInt64(number % 11) * 100_000)
            task.cancel()
          }
          if let value = try? await task.value { #expect(value == number % 7) }
          heard.withLock { $0 += 1 }
        }
      }
    }
    #expect(heard.withLock { $0 } == 400 && work.count == 0)
  }
}

/// Runs each job of a task on a new thread.
private final class ThreadExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    Thread.detachNewThread { job.runSynchronously(on: executor) }
  }
}
