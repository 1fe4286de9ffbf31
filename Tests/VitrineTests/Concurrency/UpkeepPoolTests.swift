import Foundation
import Synchronization
import Testing

@testable import Vitrine

/// The threads that all stores of a process share for upkeep.
@Suite struct UpkeepPoolTests {
  private func wait(until isDone: () -> Bool) {
    while !isDone() { usleep(1000) }
  }

  @Test func stepsRunAtTheirTimesAndWhenTheyAreWoken() throws {
    let pool = UpkeepPool()
    let count = Atomic<Int>(0)
    let timed = try pool.start(name: "timed", first: .after(milliseconds: 1)) {
      .after(milliseconds: count.wrappingAdd(1, ordering: .relaxed).newValue < 5 ? 1 : 3_600_000)
    }
    wait { count.load(ordering: .relaxed) == 5 }
    timed.wake()
    wait { count.load(ordering: .relaxed) == 6 }
    timed.stop()
    timed.wake()
    #expect(count.load(ordering: .relaxed) == 6)
  }

  @Test func aWakeDuringAStepIsNotLost() throws {
    let pool = UpkeepPool()
    let count = Atomic<Int>(0)
    let task = Guarded<(any BackgroundTask)?>(nil)
    let started = try pool.start(name: "self", first: .whenWoken) {
      if count.wrappingAdd(1, ordering: .relaxed).newValue < 50 { task.withLock { $0 }?.wake() }
      return .whenWoken
    }
    task.withLock { $0 = started }
    started.wake()
    wait { count.load(ordering: .relaxed) == 50 }
    started.stop()
  }

  /// A sleeping pool makes no look at its tasks.
  @Test func noThreadWakesWithoutATimedStep() throws {
    let pool = UpkeepPool()
    let tasks = try (0..<10).map { try pool.start(name: "\($0)", first: .whenWoken) { .whenWoken } }
    for task in tasks { task.wake() }
    // Threads that were needed for a moment end after a while.
    wait { pool.isSleeping && pool.threadCount == 1 }
    let settled = pool.lookCount
    usleep(500_000)
    // The system may wake a thread for no reason.
    #expect(pool.lookCount <= settled + 1)
    for task in tasks { task.stop() }
    wait { pool.threadCount == 0 }
  }

  @Test func manyTasksShareAFewThreads() throws {
    let pool = UpkeepPool(mostThreads: 3)
    let running = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let done = Atomic<Int>(0)
    let tasks = try (0..<40).map { number in
      let box = Box()
      return try pool.start(name: "\(number)", first: .after(milliseconds: number % 3)) {
        // Calls of one task never overlap.
        precondition(!box.value.exchange(true, ordering: .relaxed))
        most.max(running.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed)
        usleep(200)
        running.wrappingSubtract(1, ordering: .relaxed)
        box.value.store(false, ordering: .relaxed)
        done.wrappingAdd(1, ordering: .relaxed)
        return .after(milliseconds: 1)
      }
    }
    wait { done.load(ordering: .relaxed) > 400 }
    for task in tasks { task.stop() }
    #expect(most.load(ordering: .relaxed) <= 3 && running.load(ordering: .relaxed) == 0)
    let count = done.load(ordering: .relaxed)
    usleep(20_000)
    #expect(done.load(ordering: .relaxed) == count)
    wait { pool.threadCount == 0 }
  }

  /// A slow step of one store does not delay the steps of another.
  @Test func aSlowStepLeavesTheTimesOfOthers() throws {
    let pool = UpkeepPool()
    let isHeld = Atomic<Bool>(true)
    let count = Atomic<Int>(0)
    let slow = try pool.start(name: "slow", first: .after(milliseconds: 0)) {
      while isHeld.load(ordering: .relaxed) { usleep(1000) }
      return .whenWoken
    }
    let other = try pool.start(name: "other", first: .after(milliseconds: 1)) {
      count.wrappingAdd(1, ordering: .relaxed)
      return .after(milliseconds: 1)
    }
    wait { count.load(ordering: .relaxed) > 10 }
    isHeld.store(false, ordering: .relaxed)
    slow.stop()
    other.stop()
  }

  @Test func aStepMayEndItsOwnTask() throws {
    let pool = UpkeepPool()
    let task = Guarded<(any BackgroundTask)?>(nil)
    let count = Atomic<Int>(0)
    let started = try pool.start(name: "once", first: .whenWoken) {
      count.wrappingAdd(1, ordering: .relaxed)
      task.withLock { $0 }?.stop()
      return .after(milliseconds: 0)
    }
    task.withLock { $0 = started }
    started.wake()
    wait { pool.threadCount == 0 && count.load(ordering: .relaxed) > 0 }
    #expect(count.load(ordering: .relaxed) == 1)
    task.withLock { $0 = nil }
  }
}

private final class Box: Sendable {
  let value = Atomic<Bool>(false)
}
