import CacheCtlKit

/// Values are put once, read in many ways, and partly removed.
struct ValueWorkload: Workload {
  static let checkedCount = 1000

  let name: String
  let note: String
  let values: Values
  let plan: StorePlan
  /// Numbers of the values that are read whole, in the order of reading.
  let sample: [Int]
  /// Measures only one thread's puts, gets of 64 bytes, misses, the disk and the opening.
  let isReduced: Bool
  /// The engines that take part.
  let kinds: [EngineKind]

  var count: Int { plan.entryCount }

  init(
    _ name: String, _ text: String, count: Int, values: Values, sampleCount: Int = 0, isCompressible: Bool = false,
    isBitmap: Bool = false, isReduced: Bool = false, kinds: [EngineKind] = EngineKind.allCases
  ) {
    self.name = name
    self.values = values
    self.isReduced = isReduced
    self.kinds = kinds
    let payload = values.totalByteCount(count)
    plan = StorePlan(
      entryCount: count, payloadByteCount: payload, typicalByteCount: payload / count,
      isCompressible: isCompressible, isBitmap: isBitmap)
    let sampled = min(count, sampleCount)
    var random = Random(5)
    var sample = (0..<sampled).map { $0 * count / sampled }
    for index in sample.indices.dropFirst() { sample.swapAt(index, random.index(index + 1)) }
    self.sample = sample
    let reading = isReduced ? "" : "; gets of every byte: \(Quantity.count(sampled)) values"
    note = "\(Quantity.count(count)) \(text), \(Quantity.bytes(payload)) in all\(reading)"
  }

  func takes(_ kind: EngineKind) -> Bool { kinds.contains(kind) }

  func run(_ trial: Trial) throws -> [Sample] {
    var samples: [Sample] = []
    let folder = try trial.makeFolder("one", payloadByteCount: plan.payloadByteCount)
    let before = try trial.counter.read()
    samples += rates(try fill(trial, folder, threads: 1), Metric.putBytes, Metric.putCount)
    let after = try trial.counter.read()
    let payload = Double(plan.payloadByteCount)
    samples.append(Sample(.written, Double(after - before) / payload))

    let (engine, opening) = try Clock.time {
      let engine = try trial.kind.open(folder, plan)
      let session = try engine.session()
      guard try session.touch(KeyBuffer().key(0)) != nil else { throw missing(trial) }
      return engine
    }
    samples.append(Sample(.open, opening))
    samples.append(Sample(.disk, Double(try engine.bytesOnDisk(folder)) / payload))
    samples += try Reading(self, trial, engine).run()
    try engine.close()
    try trial.remove(folder)
    if isReduced { return samples }

    let second = try trial.makeFolder("two", payloadByteCount: plan.payloadByteCount)
    samples += rates(try fill(trial, second, threads: 2), Metric.putBytes2, Metric.putCount2)
    try trial.remove(second)
    return samples
  }

  func missing(_ trial: Trial) -> Failure { Failure("\(trial.kind.rawValue): a value that was put is missing") }

  /// Puts all values into a new store and closes it. Returns the seconds of the puts.
  private func fill(_ trial: Trial, _ folder: String, threads: Int) throws -> Double {
    let engine = try trial.kind.open(folder, plan)
    let (values, count) = (values, count)
    let nanoseconds = try Threads.measure(threads) { thread, timer in
      let session = try engine.session()
      let keys = KeyBuffer()
      timer.start()
      for number in stride(from: thread, to: count, by: threads) {
        try session.put(keys.key(number), values.value(number))
      }
      timer.stop()
    }
    if threads > 1 { try Reading.check(self, trial.kind.rawValue, try engine.session()) }
    try engine.close()
    return nanoseconds / 1e9
  }

  private func rates(_ seconds: Double, _ bytes: Metric, _ puts: Metric) -> [Sample] {
    [Sample(bytes, Double(plan.payloadByteCount) / seconds), Sample(puts, Double(count) / seconds)]
  }
}
