import Foundation
import Testing

@testable import Vitrine

/// Bodies that wait until other bodies release their reservations. The time limit only ends a hang: each of thousands
/// of steps waits for its turn beside all other tests.
@Suite(.timeLimit(.minutes(60))) struct WaitingBodyTests {
  let clock = PatientClock()
  let store: CacheStore

  init() throws {
    var world = TestWorld(fileSystem: MemoryDisk())
    world.environment.clock = clock
    // Bodies hold 2 MiB at most, and each has a segment of its own.
    store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10))
  }

  private var waiterCount: Int { store.probe.waiterCount }
  private var lookCount: Int { store.probe.lookCount }

  private func until(_ isTrue: () -> Bool) async throws {
    while !isTrue() { try await Task.sleep(nanoseconds: 200_000) }
  }

  /// A body that holds all the space that bodies may have.
  private func holder() async throws -> AsyncBodyWriter {
    let holder = try store.asynchronous.writer(for: CacheKey("holder"), length: 2 << 20)
    try await holder.write([1])
    return holder
  }

  private final class Admitted: Sendable {
    private let state = Guarded<[Int: AsyncBodyWriter]>([:])
    var numbers: Set<Int> { state.withLock { Set($0.keys) } }
    func add(_ number: Int, _ writer: AsyncBodyWriter) { state.withLock { $0[number] = writer } }
    func take(_ number: Int) -> AsyncBodyWriter? { state.withLock { $0.removeValue(forKey: number) } }
  }

  /// Queues bodies one behind the other.
  private func lineUp(_ count: Int, _ admitted: Admitted, in group: inout ThrowingTaskGroup<Void, any Error>)
    async throws
  {
    let before = waiterCount
    for number in 0..<count {
      let writer = try store.asynchronous.writer(for: CacheKey("\(number)"), length: 100_000)
      group.addTask {
        try await writer.write(noise(70_000, UInt64(number)))
        admitted.add(number, writer)
      }
      try await until { waiterCount == before + number + 1 }
    }
  }

  @Test func thousandWaitingBodiesDelayNoOtherAndAreAdmittedInOrder() async throws {
    let holder = try await holder()
    let admitted = Admitted()
    try await withThrowingTaskGroup(of: Void.self) { group in
      try await lineUp(1000, admitted, in: &group)
      let looks = lookCount
      for number in 0..<200 { try store.put(noise(3000, UInt64(number)), for: "put\(number)") }
      for number in 0..<200 { #expect(try store.remove("put\(number)")) }
      try store.checkpoint()
      #expect(lookCount == looks, "nothing looks at those that wait")
      await holder.abandon()
      // As many as fit into 2 MiB with their heads.
      try await until { waiterCount == 1000 - 20 && admitted.numbers.count == 20 }
      #expect(admitted.numbers == Set(0..<20))
      for number in 0..<100 {
        try await #require(admitted.take(number)).abandon()
        try await until { admitted.numbers.contains(number + 20) }
        #expect(admitted.numbers == Set(number + 1...number + 20))
      }
      for first in stride(from: 100, to: 1000, by: 20) {
        for number in first..<first + 20 { try await #require(admitted.take(number)).abandon() }
        let next = Set(first + 20..<min(first + 40, 1000))
        try await until { admitted.numbers.count >= next.count }
        #expect(admitted.numbers == next)
      }
      #expect(lookCount <= looks + 2500, "each end looks at the next alone")
      try await group.waitForAll()
    }
    #expect(store.probe.heldByteCount == 0 && waiterCount == 0)
  }

  @Test func aThreadThatWaitsIsWokenByTheEndOfAnother() async throws {
    let holder = try await holder()
    let outcome = Guarded<StoreError??>(nil)
    let store = store
    Thread.detachNewThread {
      let writer = try? store.writer(for: "u", length: 100_000)
      let error = storeError {
        try writer?.write(noise(100_000))
        try writer?.commit()
      }
      outcome.withLock { $0 = .some(error) }
    }
    try await until { waiterCount == 1 }
    await holder.abandon()
    try await until { outcome.withLock { $0 } != nil }
    #expect(outcome.withLock { $0 } == .some(nil) && store["u"] == noise(100_000))
    #expect(clock.monotonicNanoseconds() == PatientClock.start, "no time has passed")
  }

  @Test func cancellationRemovalAndTimeEndAWait() async throws {
    let holder = try await holder()
    func begin(_ name: String, _ length: Int) throws -> (AsyncBodyWriter, Task<any Error, Never>) {
      let writer = try store.asynchronous.writer(for: CacheKey(name), length: length)
      return (
        writer,
        Task {
          do {
            try await writer.write(noise(70_000))
            return StoreError.closed
          } catch {
            return error
          }
        }
      )
    }
    let (cancelled, first) = try begin("cancelled", 100_000)
    try await until { waiterCount == 1 }
    let (_, second) = try begin("removed", 100_000)
    try await until { waiterCount == 2 }
    let (late, third) = try begin("late", 100_000)
    try await until { waiterCount == 3 }
    first.cancel()
    #expect(await first.value is CancellationError)
    try store.remove("removed")
    #expect(await second.value as? StoreError == .aborted)
    #expect(waiterCount == 1)
    // The waiter may be counted before it has read the clock, so the time is advanced repeatedly.
    let passing = Task { [clock] in
      while !Task.isCancelled {
        clock.advance(Int64(RoomQueue.longestWaitMilliseconds))
        try await Task.sleep(nanoseconds: 1_000_000)
      }
    }
    #expect(await third.value as? StoreError == .noSpace)
    passing.cancel()
    await holder.abandon()
    // The piece was not written, and may be written now.
    for writer in [cancelled, late] {
      try await writer.write(noise(100_000))
      try await writer.commit()
    }
    #expect(store["cancelled"] == noise(100_000) && store["late"] == noise(100_000))
  }

  @Test func closingEndsAWait() async throws {
    let holder = try await holder()
    let outcome = Guarded<StoreError??>(nil)
    let store = store
    Thread.detachNewThread {
      let error = storeError { try store.writer(for: "u", length: 100_000).write([1]) }
      outcome.withLock { $0 = .some(error) }
    }
    let writer = try store.asynchronous.writer(for: CacheKey("v"), length: 100_000)
    let task = Task { try await writer.write([1]) }
    try await until { waiterCount == 2 }
    try store.close()
    try await until { outcome.withLock { $0 } != nil }
    #expect(outcome.withLock { $0 } == .some(.closed))
    await #expect(throws: StoreError.closed) { try await task.value }
    await holder.abandon()
  }

  /// While it waits, only its own thread's reservation is left.
  @Test func waitThatOnlyItsOwnThreadCouldEndFails() async throws {
    let other = try store.asynchronous.writer(for: CacheKey("other"), length: 900_000)
    try await other.write([1])
    let outcome = Guarded<StoreError??>(nil)
    let store = store
    Thread.detachNewThread {
      let own = try? store.writer(for: "own", length: 1_000_000)
      let error = storeError {
        try own?.write([1])
        try store.writer(for: "more", length: 1_500_000).write([1])
      }
      outcome.withLock { $0 = .some(error) }
      own?.abandon()
    }
    try await until { waiterCount == 1 }
    await other.abandon()
    try await until { outcome.withLock { $0 } != nil }
    #expect(outcome.withLock { $0 } == .some(.noSpace))
    #expect(clock.monotonicNanoseconds() == PatientClock.start)
  }

  /// A body that waits for all the space must not block the growth of those that it waits for.
  @Test func bodyWithAReservationPassesWaitingBodiesWithoutOne() async throws {
    let first = try store.asynchronous.writer(for: CacheKey("first"), length: 100_000)
    try await first.write([1])
    let growing = try store.asynchronous.writer(for: CacheKey("growing"))
    try await growing.write(noise(70_000))
    let large = try store.asynchronous.writer(for: CacheKey("large"), length: 4 << 20)
    let task = Task { try await large.write([1]) }
    try await until { waiterCount == 1 }
    try await growing.write(noise(400_000))
    try await growing.commit()
    await first.abandon()
    try await task.value
    await large.abandon()
  }

  /// Otherwise small bodies would keep it waiting forever.
  @Test func fittingBodyWaitsBehindAnEarlierLargerOne() async throws {
    let holder = try store.asynchronous.writer(for: CacheKey("holder"), length: 1 << 20)
    try await holder.write([1])
    let large = try store.asynchronous.writer(for: CacheKey("large"), length: 3 << 19)
    let first = Task { try await large.write([1]) }
    try await until { waiterCount == 1 }
    let small = try store.asynchronous.writer(for: CacheKey("small"), length: 100_000)
    let second = Task { try await small.write([1]) }
    try await until { waiterCount == 2 }
    #expect(store.probe.bodiesWithRoom.count == 1)
    first.cancel()
    try await second.value
    await holder.abandon()
    try await large.write([1])
  }

  /// Compares the running sums with a recount over all bodies.
  @Test func bytesHeldByBodiesAreCountedExactly() throws {
    let world = TestWorld(fileSystem: MemoryDisk())
    let store = try world.open("store", StoreOptions(byteBudget: 16 << 20, segmentByteCount: 256 << 10))
    var random = SeededRandom(seed: 5)
    var writers: [BodyWriter] = []
    for round in 0..<400 {
      switch random.below(5) {
      case 0 where !writers.isEmpty: writers.remove(at: random.below(writers.count)).abandon()
      case 1 where !writers.isEmpty:
        let writer = writers.remove(at: random.below(writers.count))
        try? writer.write(noise(30_000, UInt64(round)))
        try? writer.commit()
      case 2: for number in 0..<6 { try store.put(noise(40_000, UInt64(round * 9 + number)), for: "p\(number)") }
      case 3: world.background.run()
      default:
        let byteCount = 70_000 + random.below(300_000)
        let writer = try store.writer(for: "u\(random.below(5))", length: random.chance(50) ? byteCount : nil)
        if storeError({ try writer.write(noise(66_000, UInt64(round))) }) == nil { writers.append(writer) }
      }
      #expect(store.probe.heldByteCount == counted(store.probe), "after \(round)")
    }
    writers = []
    #expect(store.probe.heldByteCount == 0)
  }

  private func counted(_ probe: StoreProbe) -> Int {
    var closing: Set<Int> = []
    var sum = 0
    for (heldByteCount, segment) in probe.bodiesWithRoom {
      if let segment, case let account = probe.account(segment), account.state != .open {
        if closing.insert(segment.slot).inserted { sum += account.byteCount }
      } else {
        sum += heldByteCount
      }
    }
    return sum
  }
}
