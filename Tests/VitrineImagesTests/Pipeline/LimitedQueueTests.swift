import Foundation
import Testing

@testable import VitrineImages

@Suite struct LimitedQueueTests {
  /// Occupies a place of the queue until the returned task is canceled.
  private func occupy(_ queue: LimitedQueue, _ priority: PictureRequest.Priority = .high) async -> Task<Void, any Error>
  {
    let ticket = queue.ticket(priority)
    let before = queue.runningCount
    let holder = Task {
      try await queue.run(ticket) {
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
      }
    }
    while queue.runningCount == before { await Task.yield() }
    return holder
  }

  private func whenWaiting(_ count: Int, _ queue: LimitedQueue) async {
    while queue.waitingCount < count { await Task.yield() }
  }

  @Test func noMoreThanTheLimitRunAtOnce() async throws {
    let queue = LimitedQueue(limit: 3, preheatingLimit: 1)
    let running = Locked((now: 0, most: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        let ticket = queue.ticket(.normal)
        group.addTask {
          try await queue.run(ticket) {
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            try await Task.sleep(nanoseconds: 1_000_000)
            running.withLock { $0.now -= 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(running.withLock { $0.most } == 3 && queue.runningCount == 0 && queue.waitingCount == 0)
  }

  @Test func waitingTasksRunByPriorityAndThenInOrder() async throws {
    let queue = LimitedQueue(limit: 1, preheatingLimit: 1)
    let holder = await occupy(queue)
    let order = Locked<[String]>([])
    var tasks: [Task<Void, any Error>] = []
    var tickets: [String: LimitedQueue.Ticket] = [:]
    for (name, priority) in [
      ("n1", PictureRequest.Priority.normal), ("l1", .low), ("h1", .high), ("n2", .normal), ("l2", .low),
    ] {
      let ticket = queue.ticket(priority)
      tickets[name] = ticket
      tasks.append(Task { try await queue.run(ticket) { order.withLock { $0.append(name) } } })
      await whenWaiting(tasks.count, queue)
    }
    queue.setPriority(.high, of: tickets["l2"]!)
    // A ticket alone does not wait yet.
    try await until { queue.begunWaitingCount == 5 }
    holder.cancel()
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == ["h1", "l2", "n1", "n2", "l1"])
  }

  @Test func canceledTaskLeavesTheQueue() async throws {
    let queue = LimitedQueue(limit: 1, preheatingLimit: 1)
    let holder = await occupy(queue)
    let ticket = queue.ticket(.high)
    let task = Task { try await queue.run(ticket) { true } }
    try await until { queue.begunWaitingCount == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.waitingCount == 0)
    // A task canceled before it begins leaves the queue as well.
    let other = queue.ticket(.high)
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await queue.run(other) { true }
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    #expect(queue.waitingCount == 0)
    holder.cancel()
    let last = queue.ticket(.low)
    #expect(try await queue.run(last) { true })
  }

  /// After random changes and cancellations, the order equals that of a sorted array.
  @Test(arguments: [1, 2, 3] as [UInt64]) func orderMatchesASortedArrayAfterRandomChanges(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let queue = LimitedQueue(limit: 1, preheatingLimit: 1)
    queue.setAdmitsPreheating(false)
    let holder = await occupy(queue)
    let order = Locked<[Int]>([])
    let priorities: [PictureRequest.Priority] = [.low, .normal, .high]
    var model: [Int: PictureRequest.Priority] = [:]
    var tickets: [LimitedQueue.Ticket] = []
    var tasks: [Task<Void, any Error>] = []
    for step in 0..<600 {
      let priority = priorities[random.below(3)]
      switch random.below(4) {
      case 0 where !model.isEmpty:
        let number = model.keys.sorted()[random.below(model.count)]
        queue.setPriority(random.chance(20) ? .preheating : .low, of: tickets[number])
        queue.setPriority(priority, of: tickets[number])
        model[number] = priority
      case 1 where !model.isEmpty && step % 2 == 0:
        let number = model.keys.sorted()[random.below(model.count)]
        model[number] = nil
        tasks[number].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[number].value }
      default:
        let (number, ticket) = (tickets.count, queue.ticket(priority))
        tickets.append(ticket)
        tasks.append(Task { try await queue.run(ticket) { order.withLock { $0.append(number) } } })
        model[number] = priority
      }
    }
    try await until { queue.begunWaitingCount == model.count }
    holder.cancel()
    for number in model.keys { try await tasks[number].value }
    let expected = model.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
    #expect(order.withLock { $0 } == expected, "seed \(seed)")
    #expect(queue.waitingCount == 0 && queue.runningCount == 0)
  }

  /// A place that a request left, and that only preheating still wants, must not delay the next request.
  @Test func placeThatOnlyPreheatingWantsDelaysNoRequest() async throws {
    let queue = LimitedQueue(limit: 1, preheatingLimit: 1)
    let (interest, other) = (Interest(.normal), Interest(.low))
    let place = try await queue.place(interest)
    let second = Task { try await queue.place(other) }
    defer { second.cancel() }
    try await until { queue.begunWaitingCount == 1 }
    interest.set(.preheating)
    try await until { queue.runningCount == 2 }
    try #require(queue.waitingCount == 0)
    let held = try await second.value
    // A place that another interest takes over delays no request either.
    let third = Task { try await queue.run(Interest(.high)) { true } }
    try await until { queue.begunWaitingCount == 1 }
    held.follow(Interest(.preheating))
    try await until { queue.waitingCount == 0 }
    third.cancel()
    #expect(try await third.value)
    withExtendedLifetime((place, held)) {}
    // When all places are free again, the queue has one place, and one for preheating.
    let holder = await occupy(queue)
    let waiting = Task { try await queue.run(Interest(.high)) { true } }
    try await until { queue.begunWaitingCount == 1 }
    holder.cancel()
    #expect(try await waiting.value)
  }

  @Test func delayedPriorityChangeDoesNotUndoALaterOne() async throws {
    let queue = LimitedQueue(limit: 1, preheatingLimit: 1)
    queue.setAdmitsPreheating(false)
    let holder = await occupy(queue)
    let interest = Interest(.normal)
    // This observer runs first. It changes the interest again before the queue learns of the first change.
    interest.follow { if $0.priority == .preheating { $0.set(.normal) } }
    let hasRun = Locked(false)
    let task = Task { try await queue.run(interest) { hasRun.withLock { $0 = true } } }
    try await until { queue.begunWaitingCount == 1 }
    interest.set(.preheating)
    holder.cancel()
    try await until { hasRun.withLock { $0 } }
    task.cancel()
  }

  @Test func taskThatNeedsAllPlacesRunsAloneBeforeLaterTasks() async throws {
    let queue = LimitedQueue(limit: 2, preheatingLimit: 1)
    let holders = [await occupy(queue), await occupy(queue, .preheating)]
    let order = Locked<[String]>([])
    let alone = Task { try await queue.run(Interest(.high), .all) { order.withLock { $0.append("alone") } } }
    try await until { queue.begunWaitingCount == 1 }
    let gone = Task { try await queue.run(Interest(.high), .all) {} }
    try await until { queue.begunWaitingCount == 2 }
    let later = Task { try await queue.run(Interest(.high)) { order.withLock { $0.append("later") } } }
    try await until { queue.begunWaitingCount == 3 }
    gone.cancel()
    await #expect(throws: CancellationError.self) { try await gone.value }
    for holder in holders { holder.cancel() }
    try await alone.value
    try await later.value
    #expect(order.withLock { $0 } == ["alone", "later"])
    // If a task that wants all places gives up, the tasks behind it proceed.
    let holder = await occupy(queue)
    let second = Task { try await queue.run(Interest(.high), .all) {} }
    try await until { queue.begunWaitingCount == 1 }
    let kept = Task { try await queue.run(Interest(.low)) { true } }
    try await until { queue.begunWaitingCount == 2 }
    second.cancel()
    #expect(try await kept.value)
    holder.cancel()
  }

  @Test func preheatingHasSeparatePlacesAndWaitsForAdmission() async throws {
    let queue = LimitedQueue(limit: 1, preheatingLimit: 2)
    queue.setAdmitsPreheating(false)
    let ran = Locked(0)
    let tickets = (0..<3).map { _ in queue.ticket(.preheating) }
    let tasks = tickets.map { ticket in Task { try await queue.run(ticket) { ran.withLock { $0 += 1 } } } }
    try await Task.sleep(nanoseconds: 30_000_000)
    #expect(ran.withLock { $0 } == 0)
    // A request does not wait for admission. A ticket raised to a request's priority is no longer preheating.
    queue.setPriority(.normal, of: tickets[2])
    try await tasks[2].value
    let holder = await occupy(queue)
    queue.setAdmitsPreheating(true)
    for task in tasks { try await task.value }
    holder.cancel()
    #expect(ran.withLock { $0 } == 3)
  }
}
