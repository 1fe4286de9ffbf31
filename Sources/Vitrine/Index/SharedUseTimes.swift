import Synchronization

/// The readings of the recency clock, shared by all threads of a store. Callers pass the time.
///
/// Each use is preceded by ``note(_:at:)`` with the time of the use. Most calls find that time noted already and
/// write nothing. The first call with another time takes a reading: all stamps given so far belong to uses at the
/// time noted before. So every use is dated by the time passed with it, within the precision of the kept readings
/// (``UseTimes``).
///
/// Any thread may call. Dating a stamp reads a published copy of the readings without a lock. It takes the lock only
/// if eight reads fail.
///
/// Invariant: `version` is odd while `state` is being published. Otherwise `count` pairs of stamp and time in `words`
/// are whole. `words` has `wordCount` initialized atomics until deinit.
package final class SharedUseTimes: @unchecked Sendable {
  private struct State {
    var times = UseTimes()
    /// The time of the uses since the last reading; nil before the first use of an opening.
    var current: Int64?
  }

  /// The time for which no reading is needed; `Int64.min` for none.
  private let current = Atomic<Int64>(.min)
  /// The time of the uses since the last reading; `Int64.min` before the first use of an opening.
  private let latest = Atomic<Int64>(.min)
  private let state = Guarded(State())

  private let version = Atomic<UInt64>(0)
  private let count = Atomic<Int>(0)
  private let words: UnsafeMutablePointer<Atomic<UInt64>>
  private static let wordCount = 2 * (UseTimes.most + 1)
  /// Attempts to read the copy without the lock.
  private static let mostAttempts = 8

  package init() {
    words = .allocate(capacity: SharedUseTimes.wordCount)
    for index in 0..<SharedUseTimes.wordCount { (words + index).initialize(to: Atomic(0)) }
  }

  deinit { words.deallocate() }

  /// Returns whether `time` was noted last. A stamp given after this call is above the reading taken with that
  /// time.
  @inline(__always)
  func isCurrent(_ time: Int64) -> Bool { current.load(ordering: .acquiring) == time }

  /// Notes that the uses that follow happen at `time`, in milliseconds since 1970. Call before the use gets its stamp.
  @inline(__always)
  package func note(_ time: Int64, at clock: RecencyClock) {
    if !isCurrent(time) { takeReading(time, clock) }
  }

  @inline(never)
  private func takeReading(_ time: Int64, _ clock: RecencyClock) {
    state.withLock { state in
      var time = time
      if let noted = state.current, time <= noted, time >= noted &- UseTimes.interval {
        // A thread may come late with a time read earlier; its use counts as one at the later time.
        if current.load(ordering: .relaxed) != .min { return }
        time = noted
      }
      // Without this call, a use after the reading could get a stamp that a thread took before it.
      clock.endBlocks()
      // After the clock was set back, earlier readings may be in the future.
      state.times.note(stamp: clock.now, time: min(state.current ?? time, time))
      state.current = time
      publish(state.times)
      latest.store(time, ordering: .relaxed)
      current.store(time, ordering: .releasing)
    }
  }

  /// Lets the next use take a reading, also if it happens at the time noted last.
  func endCurrent() { state.withLock { _ in current.store(.min, ordering: .releasing) } }

  /// Returns a moment by which the use with `stamp` had happened; nil if no reading tells. O(log readings).
  package func time(of stamp: UInt32, at clock: RecencyClock) -> Int64? {
    let now = clock.now
    for _ in 0..<SharedUseTimes.mostAttempts {
      let before = version.load(ordering: .acquiring)
      if before & 1 == 1 { continue }
      // Loaded before the readings: so a use after a newer reading gets a later time, never an earlier one.
      let latest = latest.load(ordering: .relaxed)
      let count = count.load(ordering: .relaxed)
      let found = UseTimes.index(of: stamp, at: now, count: count) { UInt32(truncatingIfNeeded: word(2 * $0)) }
      let time = found < count ? Int64(bitPattern: word(2 * found + 1)) : latest
      atomicMemoryFence(ordering: .acquiring)
      if version.load(ordering: .relaxed) == before { return time == .min ? nil : time }
    }
    return state.withLock { $0.times.time(of: stamp, at: now) ?? $0.current }
  }

  private func word(_ index: Int) -> UInt64 { words[index].load(ordering: .relaxed) }

  private func publish(_ times: UseTimes) {
    version.wrappingAdd(1, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    for (index, reading) in times.readings.prefix(UseTimes.most + 1).enumerated() {
      words[2 * index].store(UInt64(reading.stamp), ordering: .relaxed)
      words[2 * index + 1].store(UInt64(bitPattern: reading.time), ordering: .relaxed)
    }
    count.store(min(times.readings.count, UseTimes.most + 1), ordering: .relaxed)
    version.wrappingAdd(1, ordering: .releasing)
  }

  /// Calls `body` with the readings, and publishes them as `body` leaves them.
  package func withLock<R, E: Error>(_ body: (inout UseTimes) throws(E) -> R) throws(E) -> R {
    try state.withLock { state throws(E) in
      defer { publish(state.times) }
      return try body(&state.times)
    }
  }

  /// Takes over the readings of a table whose entries were taken over.
  package func replace(with other: SharedUseTimes) {
    let times = other.state.withLock { $0.times }
    state.withLock { state in
      state = State(times: times)
      current.store(.min, ordering: .relaxed)
      latest.store(.min, ordering: .relaxed)
      publish(times)
    }
  }

  /// Returns the readings for a checkpoint, with one for the uses since the last.
  package func readings(at clock: RecencyClock) -> [UseTimes.Reading] {
    state.withLock { state in
      var times = state.times
      if let current = state.current { times.note(stamp: clock.now, time: current) }
      return times.readings
    }
  }
}
