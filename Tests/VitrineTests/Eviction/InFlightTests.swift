import Foundation
import Testing

@testable import Vitrine

/// Values that are large beside the budget: no entry is evicted for one that does not fit, or does not fit yet.
@Suite(.timeLimit(.minutes(60))) struct InFlightTests {
  let clock = PatientClock()
  let disk = MemoryDisk()
  let store: CacheStore
  private static let budget = 16 << 20
  /// More than half of the budget.
  private static let giant = 9 << 20

  init() throws {
    var world = TestWorld(fileSystem: disk)
    world.environment.clock = clock
    store = try world.open("store", StoreOptions(byteBudget: Self.budget))
  }

  private var waiterCount: Int { store.probe.waiterCount }

  private func fill(_ count: Int, _ byteCount: Int) throws {
    for number in 0..<count { try store.put(noise(byteCount, UInt64(number)), for: "small\(number)") }
  }

  private var smallCount: Int { (0..<1000).count { store.contains("small\($0)") } }

  private func giantBatch(_ name: String) -> WriteBatch {
    var batch = WriteBatch()
    for part in 0..<90 {
      batch.put(noise(Self.giant / 90, UInt64(name.utf8.first!) * 100 + UInt64(part)), for: CacheKey("\(name)\(part)"))
    }
    return batch
  }

  private func isThere(_ name: String) -> Bool { (0..<90).allSatisfy { store.contains("\(name)\($0)") } }

  enum Kind: CaseIterable {
    case batch, value
  }

  private func write(_ kind: Kind, _ name: String) throws {
    switch kind {
    case .batch: try store.write(giantBatch(name))
    case .value: try store.put(noise(Self.giant, UInt64(name.utf8.first!)), for: "\(name)0")
    }
  }

  private func isThere(_ kind: Kind, _ name: String) -> Bool {
    kind == .batch ? isThere(name) : store.contains("\(name)0")
  }

  /// Runs `body` on another thread, and returns a place for its outcome.
  private func start(_ body: @escaping @Sendable () throws -> Void) -> Guarded<StoreError??> {
    let outcome = Guarded<StoreError??>(nil)
    Thread.detachNewThread {
      let error = storeError(body)
      outcome.withLock { $0 = .some(error) }
    }
    return outcome
  }

  private func until(_ isTrue: () -> Bool) { while !isTrue() { usleep(200) } }

  /// Calls `body` once, when the first record of the next write is about to be written.
  private func inTheMiddle(_ body: @escaping @Sendable () -> Void) {
    let isDue = Guarded(true)
    disk.onWrite.withLock { handler in
      handler = { path, offset in
        guard path.hasPrefix("segments/"), offset >= SegmentHeader.byteCount else { return }
        let isNow = isDue.withLock { isDue in
          defer { isDue = false }
          return isDue
        }
        if isNow { body() }
      }
    }
  }

  @Test(arguments: Kind.allCases, Kind.allCases) func secondGiantWaitsForTheFirst(
    _ first: Kind, _ second: Kind
  ) throws {
    try fill(1000, 3000)
    let outcome = Guarded<Guarded<StoreError??>?>(nil)
    let evicted = Guarded(-1)
    inTheMiddle {
      outcome.withLock { $0 = start { try write(second, "b") } }
      until { waiterCount == 1 }
      evicted.withLock { $0 = store.statistics().evictedCount }
    }
    try write(first, "a")
    disk.onWrite.withLock { $0 = nil }
    until { outcome.withLock { $0?.withLock { $0 } } != nil }
    #expect(outcome.withLock { $0?.withLock { $0 } } == .some(.some(nil)))
    #expect(evicted.withLock { $0 } <= 0, "the first fits beside the small ones")
    #expect(isThere(second, "b") && clock.monotonicNanoseconds() == PatientClock.start)
    // Room for the second, and for dead space.
    #expect(store.statistics().evictedByteCount <= 2 * Self.giant)
    #expect(try store.verify().isOK)
    #expect(store.probe.onlyThisThreadHoldsRoom)
  }

  @Test(arguments: Kind.allCases) func giantThatWaitsTooLongEvictsNoEntry(_ kind: Kind) throws {
    try fill(1000, 3000)
    let outcome = Guarded<StoreError??>(nil)
    inTheMiddle {
      let own = start { try write(kind, "b") }
      until { waiterCount == 1 }
      // The waiter may be counted before it has read the clock, so the time is advanced repeatedly.
      until {
        clock.advance(Int64(RoomQueue.longestWaitMilliseconds))
        return own.withLock { $0 } != nil
      }
      outcome.withLock { $0 = own.withLock { $0 } }
    }
    try write(.batch, "a")
    disk.onWrite.withLock { $0 = nil }
    #expect(outcome.withLock { $0 } == .some(.noSpace))
    #expect(isThere("a") && smallCount == 1000 && store.statistics().evictedCount == 0)
  }

  /// Space that a body holds is not free.
  @Test(arguments: Kind.allCases, [true, false]) func aGiantBesideABodyWaitsForIt(_ kind: Kind, _ isOwn: Bool) throws {
    try fill(1000, 3000)
    let body = Guarded<BodyWriter?>(nil)
    let begin: @Sendable () throws -> Void = {
      let writer = try store.writer(for: "body", length: 8 << 20)
      try writer.write([1])
      body.withLock { $0 = writer }
    }
    if isOwn {
      try begin()
      #expect(storeError { try write(kind, "a") } == .noSpace, "at once")
    } else {
      let begun = start(begin)
      until { begun.withLock { $0 } != nil }
      let outcome = start { try write(kind, "a") }
      until { waiterCount == 1 }
      #expect(smallCount == 1000)
      body.withLock { $0?.abandon() }
      until { outcome.withLock { $0 } != nil }
      #expect(outcome.withLock { $0 } == .some(nil) && isThere(kind, "a"))
    }
    #expect(clock.monotonicNanoseconds() == PatientClock.start)
    body.withLock { $0 = nil }
    if isOwn { #expect(smallCount == 1000 && store.statistics().evictedCount == 0) }
  }

  /// A put that the disk refuses tries again when room may have been freed, and not before.
  @Test func refusedPutSleepsUntilABodyOfAnotherThreadEnds() throws {
    let refusals = Guarded((isOn: true, count: 0))
    disk.onSync.withLock { handler in
      handler = { path throws(SystemError) in
        guard path.hasPrefix("segments/") else { return }
        let isRefused = refusals.withLock { refusals in
          if refusals.isOn { refusals.count += 1 }
          return refusals.isOn
        }
        if isRefused { throw SystemError(code: 28, operation: "sync", path: path) }
      }
    }
    refusals.withLock { $0.isOn = false }
    let body = try store.writer(for: "body", length: 100_000)
    try body.write([1])
    refusals.withLock { $0.isOn = true }
    let outcome = start { for number in 0..<200 { try store.put(noise(3000, UInt64(number)), for: "put\(number)") } }
    until { waiterCount == 1 }
    let count = refusals.withLock { $0.count }
    for number in 0..<100 { _ = store["put\(number)"] }
    #expect(refusals.withLock { $0.count } == count && outcome.withLock { $0 } == nil)
    refusals.withLock { $0.isOn = false }
    body.abandon()
    until { outcome.withLock { $0 } != nil }
    #expect(outcome.withLock { $0 } == .some(nil) && store["put199"] == noise(3000, 199))
    #expect(clock.monotonicNanoseconds() == PatientClock.start && waiterCount == 0)
  }

  /// Segments that Blobs hold keep their bytes, so nothing is evicted for a value that does not fit beside them.
  @Test(arguments: [true, false]) func giantThatDoesNotFitBesideBlobsEvictsNothing(_ isBody: Bool) throws {
    try fill(1000, 3000)
    var blobs = (0..<1000).compactMap { store.blob("small\($0)") }
    #expect(blobs.contains { !$0.isCopy } && store.statistics().evictedCount == 0)
    let byteCount = store.probe.roomBesideOpen - (1 << 20)
    func write() throws {
      if !isBody { return try store.put(noise(byteCount), for: "giant") }
      let writer = try store.writer(for: "giant", length: byteCount)
      try writer.write(noise(byteCount))
      try writer.commit()
    }
    #expect(storeError(write) == .noSpace)
    #expect(smallCount == 1000 && store.statistics().evictedCount == 0)
    blobs = []
    try write()
    #expect(store["giant"]?.count == byteCount && clock.monotonicNanoseconds() == PatientClock.start)
  }

  @Test func aLargeBodyWaitsForABatch() throws {
    try fill(1000, 3000)
    let outcome = Guarded<Guarded<StoreError??>?>(nil)
    inTheMiddle {
      outcome.withLock {
        $0 = start {
          let writer = try store.writer(for: "body", length: Self.giant)
          for _ in 0..<9 { try writer.write(noise(1 << 20)) }
          try writer.commit()
        }
      }
      until { waiterCount == 1 }
    }
    try store.write(giantBatch("a"))
    disk.onWrite.withLock { $0 = nil }
    until { outcome.withLock { $0?.withLock { $0 } } != nil }
    #expect(outcome.withLock { $0?.withLock { $0 } } == .some(.some(nil)))
    #expect(store["body"]?.count == Self.giant)
  }

  /// Its length is unknown until its end.
  @Test func aBodyOfUndeclaredLengthEvictsAnEighthOfTheBudgetAtMost() throws {
    try fill(1000, 15_000)
    let full = store.count
    #expect(full > 800)
    func write(_ byteCount: Int) -> StoreError? {
      storeError {
        let writer = try store.writer(for: "body")
        for _ in 0..<byteCount >> 18 { try writer.write(noise(1 << 18)) }
        try writer.commit()
      }
    }
    let eighth = Self.budget / 8
    #expect(write(eighth * 3 / 4) == nil && store["body"]?.count == eighth * 3 / 4)
    try store.remove("body")
    let before = (store.count, store.statistics().evictedByteCount)
    #expect(write(8 << 20) == .noSpace)
    // Up to the last of a frame of evictions, and with one segment for copies.
    #expect(store.statistics().evictedByteCount - before.1 <= eighth + 15_500)
    #expect(before.0 - store.count <= eighth / 15_000 + 1)
    #expect(try store.verify().isOK)
  }

  @Test func aBodyThatTurnsOutTooLargeEvictsNoMore() throws {
    try fill(1000, 15_000)
    let before = store.count
    let writer = try store.writer(for: "body")
    let error = storeError { try writer.write(noise(20 << 20)) }
    guard case .tooLarge(20 << 20, let limit)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(store.count == before && limit < Self.budget)
    #expect(storeError { try store.writer(for: "body", length: 20 << 20).write([1]) } != nil)
    #expect(store.count == before)
  }

  /// Free space costs no entry.
  @Test func bodyOfUndeclaredLengthMayUseTheFreeSpace() throws {
    try fill(100, 15_000)
    let writer = try store.writer(for: "body")
    for _ in 0..<9 { try writer.write(noise(1 << 20)) }
    try writer.commit()
    #expect(store["body"]?.count == 9 << 20 && store.count == 101)
  }
}
