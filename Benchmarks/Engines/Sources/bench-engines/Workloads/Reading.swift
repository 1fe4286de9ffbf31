/// The measurements of a store that was just opened, in the order in which a program would meet them.
struct Reading {
  private static let passes = 50
  private static let batchCount = 16

  private let workload: ValueWorkload
  private let trial: Trial
  private let engine: any Engine
  private let session: any EngineSession
  private let keys = KeyBuffer()

  init(_ workload: ValueWorkload, _ trial: Trial, _ engine: any Engine) throws {
    self.workload = workload
    self.trial = trial
    self.engine = engine
    session = try engine.session()
  }

  func run() throws -> [Sample] {
    var samples: [Sample] = []
    if !workload.isReduced { samples += try readWhole() }
    try touchAll()
    try Reading.check(workload, trial.kind.rawValue, session)
    samples.append(Sample(.get64, try touch(threads: 1)))
    samples.append(Sample(.miss, try measureMisses()))
    if workload.isReduced { return samples }
    samples.append(Sample(.get64Threads2, try touch(threads: 2)))
    samples.append(Sample(.contains, try measureContains()))
    if let session = session as? any RetainingSession { samples += try measureRetaining(session) }
    samples.append(Sample(.remove, try measureRemovals()))
    return samples
  }

  /// Compares values that are spread over all with the expected bytes.
  static func check(_ workload: ValueWorkload, _ name: String, _ session: any EngineSession) throws {
    let check = SelfCheck(name, session)
    let step = max(1, workload.count / ValueWorkload.checkedCount)
    for number in stride(from: 0, to: workload.count, by: step) {
      try check.expect(number, workload.values.value(number))
    }
    try check.expectMiss(workload.count + 1)
  }

  /// Every byte of the sample, 50 times: the first time alone, and all together.
  private func readWhole() throws -> [Sample] {
    var times: [Double] = []
    for _ in 0..<Reading.passes {
      let time = try Clock.time {
        var sum: UInt64 = 0
        for number in workload.sample {
          guard let words = try session.consume(keys.key(number)) else { throw workload.missing(trial) }
          sum ^= words
        }
        Words.keep(sum)
      }
      times.append(time.nanoseconds / Double(workload.sample.count))
    }
    return [
      Sample(.firstRead, times[0]), Sample(.read50, times.reduce(0, +) / Double(Reading.passes)),
    ]
  }

  /// Later measurements are of values that were read before.
  private func touchAll() throws {
    for number in 0..<workload.count where try session.touch(keys.key(number)) == nil { throw workload.missing(trial) }
  }

  /// Nanoseconds of one get on each of the threads.
  private func touch(threads: Int) throws -> Double {
    let (engine, workload, trial) = (engine, workload, trial)
    let results = ThreadTimes(count: threads)
    _ = try Threads.measure(threads) { thread, timer in
      let session = try engine.session()
      let keys = KeyBuffer()
      var random = Random(100 * trial.repetition + thread)
      var sum: UInt64 = 0
      timer.start()
      let time = try Clock.nanosecondsPerCall(seconds: trial.seconds) {
        guard let words = try session.touch(keys.key(random.index(workload.count))) else {
          throw workload.missing(trial)
        }
        sum ^= words
      }
      timer.stop()
      Words.keep(sum)
      results.set(thread, time)
    }
    return results.mean
  }

  private func measureMisses() throws -> Double {
    var random = Random(trial.repetition)
    let count = workload.count
    return try Clock.nanosecondsPerCall(seconds: trial.seconds) {
      if try session.touch(keys.key(count + random.index(count))) != nil {
        throw Failure("\(trial.kind.rawValue): an absent key has a value")
      }
    }
  }

  private func measureContains() throws -> Double {
    var random = Random(trial.repetition)
    return try Clock.nanosecondsPerCall(seconds: trial.seconds) {
      guard try session.contains(keys.key(random.index(workload.count))) else { throw workload.missing(trial) }
    }
  }

  private func measureRetaining<Session: RetainingSession>(_ session: Session) throws -> [Sample] {
    var random = Random(trial.repetition)
    let batches = (0..<1024).map { _ in
      (0..<Reading.batchCount).map { _ in session.prepare(keys.key(random.index(workload.count))) }
    }
    var next = 0
    let many = try Clock.nanosecondsPerCall(seconds: trial.seconds, block: 16) {
      guard session.touchMany(batches[next & 1023]) == Reading.batchCount else { throw workload.missing(trial) }
      next += 1
    }
    next = 0
    let retained = try Clock.nanosecondsPerCall(seconds: trial.seconds) {
      let key = batches[next >> 4 & 1023][next & 15]
      guard let words = session.touchRetained(key) else { throw workload.missing(trial) }
      Words.keep(words)
      next += 1
    }
    return [Sample(.getMany16, many / Double(Reading.batchCount)), Sample(.getRetained, retained)]
  }

  /// Removes every tenth value, once each.
  private func measureRemovals() throws -> Double {
    let removed = Array(stride(from: 0, to: workload.count, by: 10))
    let time = try Clock.time {
      for number in removed { try session.remove(keys.key(number)) }
    }
    let check = SelfCheck(trial.kind.rawValue, session)
    for number in removed.prefix(ValueWorkload.checkedCount) { try check.expectMiss(number) }
    if workload.count > 1 { try check.expect(1, workload.values.value(1)) }
    return time.nanoseconds / Double(removed.count)
  }
}

/// A number of each thread. Each thread sets its own, and they are read after all have ended.
private final class ThreadTimes: @unchecked Sendable {
  private let numbers: UnsafeMutableBufferPointer<Double>

  init(count: Int) {
    numbers = .allocate(capacity: count)
    numbers.initialize(repeating: 0)
  }

  deinit { numbers.deallocate() }

  func set(_ thread: Int, _ number: Double) { numbers[thread] = number }

  var mean: Double { numbers.reduce(0, +) / Double(numbers.count) }
}
