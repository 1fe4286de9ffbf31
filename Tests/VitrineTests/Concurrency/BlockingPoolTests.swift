import Foundation
import Testing

@testable import Vitrine

/// The threads of the async forms.
@Suite struct BlockingPoolTests {
  private final class Token: Sendable {
    let count: Guarded<Int>
    init(_ count: Guarded<Int>) {
      self.count = count
      count.withLock { $0 += 1 }
    }
    deinit { count.withLock { $0 -= 1 } }
  }

  /// A queue that always has jobs keeps no reference to finished ones.
  @Test func queueThatNeverRunsDryFreesFinishedJobs() {
    let pool = BlockingPool(mostThreads: 1)
    let living = Guarded(0)
    let most = Guarded(0)
    let left = Guarded(10_000)
    let done = DispatchSemaphore(value: 0)
    @Sendable func submit() {
      let token = Token(living)
      pool.submit {
        withExtendedLifetime(token) {}
        let now = living.withLock { $0 }
        most.withLock { $0 = max($0, now) }
        let rest = left.withLock { left in
          left -= 1
          return left
        }
        if rest > 0 { submit() }
        if rest == 0 { done.signal() }
      }
    }
    for _ in 0..<8 { submit() }
    #expect(done.wait(timeout: .now() + 60) == .success)
    // Eight in the queue, and the running one.
    #expect(most.withLock { $0 } <= 9)
  }

  @Test func shortCallStartsAThreadInsteadOfWaiting() {
    let pool = BlockingPool(mostThreads: 2)
    let first = DispatchSemaphore(value: 0)
    pool.submit { first.signal() }
    first.wait()
    while !pool.hasWaitingThread { usleep(100) }
    let (isHeld, short) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    pool.submit({ isHeld.wait() }, with: { short.signal() })
    #expect(short.wait(timeout: .now() + 60) == .success)
    isHeld.signal()
  }

  @Test func jobsOfOneThreadRunInTheirOrder() {
    let pool = BlockingPool(mostThreads: 1)
    let seen = Guarded<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    for index in 0..<100 {
      pool.submit {
        seen.withLock { $0.append(index) }
        if index == 99 { done.signal() }
      }
    }
    #expect(done.wait(timeout: .now() + 60) == .success)
    #expect(seen.withLock { $0 } == Array(0..<100))
  }
}
