import CacheCtlKit

/// Puts that wait for the disk, and batches. Each row begins with a new store.
struct SyncedWorkload: Workload {
  private static let batchCount = 16
  /// Buffered batches for each synced one, because they are so much faster.
  private static let bufferedFactor = 10

  let name = "synced"
  /// Puts of one thread, and of 16 threads together.
  let singleCount: Int
  let sharedCount: Int

  private let small = Values(byteCount: 1000)
  private let large = Values(byteCount: 40_000)

  init(singleCount: Int, sharedCount: Int) {
    self.singleCount = singleCount
    self.sharedCount = sharedCount
  }

  var note: String {
    let (single, shared) = (Quantity.count(singleCount), Quantity.count(sharedCount))
    return "\(single) puts by 1 thread, \(shared) by 16 threads together, and as many in batches (ten times as many if "
      + "buffered)"
  }

  func run(_ trial: Trial) throws -> [Sample] {
    var samples: [Sample] = []
    for (size, values) in [("1k", small), ("40k", large)] {
      for threads in [1, 16] {
        let count = threads == 1 ? singleCount : sharedCount / threads * threads
        let metric = Metric.synced(size, threads: threads)
        samples.append(
          try rate(metric, trial, values, count: count, threads: threads) { session, keys, numbers in
            for number in numbers { try session.putSynced(keys[0].key(number), values.value(number)) }
          })
      }
    }
    for (metric, isSynced) in [(Metric.batch16, false), (.batch16Synced, true)] {
      let values = small
      let batches = sharedCount / SyncedWorkload.batchCount * (isSynced ? 1 : SyncedWorkload.bufferedFactor)
      let count = batches * SyncedWorkload.batchCount
      samples.append(
        try rate(metric, trial, values, count: count, threads: 1) { session, keys, numbers in
          for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: keys.count) {
            let entries = keys.indices.map { Entry(key: keys[$0].key(first + $0), value: values.value(first + $0)) }
            try session.putBatch(entries, synced: isSynced)
          }
        })
    }
    return samples
  }

  /// Puts per second of all threads. Each thread has a range of numbers.
  private func rate(
    _ metric: Metric, _ trial: Trial, _ values: Values, count: Int, threads: Int,
    _ put: @escaping @Sendable (any EngineSession, [KeyBuffer], Range<Int>) throws -> Void
  ) throws -> Sample {
    let payload = values.totalByteCount(count)
    let folder = try trial.makeFolder(metric.name, payloadByteCount: payload)
    let plan = StorePlan(entryCount: count, payloadByteCount: payload, typicalByteCount: payload / count)
    let engine = try trial.kind.open(folder, plan)
    let nanoseconds = try Threads.measure(threads) { thread, timer in
      let session = try engine.session()
      let keys = (0..<SyncedWorkload.batchCount).map { _ in KeyBuffer() }
      let share = count / threads
      timer.start()
      try put(session, keys, (thread * share)..<((thread + 1) * share))
      timer.stop()
    }
    do {
      let check = SelfCheck(trial.kind.rawValue, try engine.session())
      for number in 0..<count { try check.expect(number, values.value(number)) }
    }
    try engine.close()
    try trial.remove(folder)
    return Sample(metric, Double(count) * 1e9 / nanoseconds)
  }
}
