import CacheCtlKit
import Vitrine

/// The results of one replay: one policy, one budget.
struct ReplayReport {
  let policy: EvictionPolicy
  let budget: ReplayBudget
  /// The most bytes that were put in a second; nil for no limit.
  let byteRate: Int?

  var counts = MissCounts()
  var putCount = 0
  var putByteCount = 0
  /// Objects above the largest size that the budget allows, each time they were requested.
  var refusedCount = 0
  /// Hits with other bytes than those put.
  var mismatchCount = 0
  /// Entries that failed the check of the store.
  var damagedCount = 0
  var evictionCount = 0

  /// The system's count; nil if it has none.
  var written: WrittenBytes?
  /// Bytes written for each byte put, as the engine counts them.
  var engineAmplification = 0.0
  var usage = UsageSamples()
  /// The store's estimate at the end; nil after too few requests.
  var curve: MissCurve?

  var seconds = 0.0
  var putSeconds = 0.0
  var puts = LatencyHistogram()
  /// Hits alone.
  var gets = LatencyHistogram()

  init(policy: EvictionPolicy, budget: ReplayBudget, byteRate: Int? = nil) {
    self.policy = policy
    self.budget = budget
    self.byteRate = byteRate
  }

  var writeAmplification: Double {
    guard let written, putByteCount > 0 else { return engineAmplification }
    return Double(written.written) / Double(putByteCount)
  }

  var putsPerSecond: Double { putSeconds > 0 ? Double(putCount) / putSeconds : 0 }

  /// The broken promises as sentences.
  var problems: [String] {
    var problems: [String] = []
    if mismatchCount > 0 {
      problems.append("\(Quantity.count(mismatchCount, "hit", "hits")) returned other bytes than those put")
    }
    if damagedCount > 0 {
      problems.append("\(Quantity.count(damagedCount, "entry", "entries")) failed the check of the store")
    }
    if usage.mostBytesOnDisk > budget.byteCount {
      problems.append("the folder took \(usage.mostBytesOnDisk) bytes, more than its budget of \(budget.byteCount)")
    }
    return problems.map { "\(policy.name), budget \(budget.byteCount): \($0)" }
  }
}

/// Samples of the space that a store takes.
struct UsageSamples {
  private(set) var mostBytesOnDisk = 0
  /// Payload bytes of live entries at the last sample.
  private(set) var liveByteCount = 0
  private var fullSum = 0.0
  private var fullCount = 0

  mutating func add(bytesOnDisk: Int, liveByteCount: Int, isFull: Bool) {
    mostBytesOnDisk = max(mostBytesOnDisk, bytesOnDisk)
    self.liveByteCount = liveByteCount
    guard isFull else { return }
    fullSum += Double(liveByteCount)
    fullCount += 1
  }

  /// Whether a sample found that the store had evicted.
  var wasFull: Bool { fullCount > 0 }

  /// The mean over all samples since the store was first full; the last sample if it never was.
  var averageLiveByteCount: Int { wasFull ? Int(fullSum / Double(fullCount)) : liveByteCount }
}
