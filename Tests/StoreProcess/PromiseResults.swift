import CacheCtlKit
import Glibc

/// The results of a run.
struct PromiseResults {
  var violations: [String] = []
  /// Borrowed gets that hit: until the closure has their bytes, the reading of the clock included.
  struct Latencies {
    var idle = LatencyHistogram()
    var load = LatencyHistogram()

    var count: Int { idle.count + load.count }

    mutating func add(_ other: Latencies) {
      idle.add(other.idle)
      load.add(other.load)
    }
  }
  /// Values borrowed from the mapped store.
  var lent = Latencies()
  /// Values decompressed first.
  var copied = Latencies()
  var missCount = 0
  var blobCount = 0
  var changeCount = 0
  var refusedCount = 0
  var compactionCount = 0
  var evictedCount = 0
  var movedCount = 0
  var refreshCount = 0
  var processReadCount = 0
  var sampleCount = 0
  var mostBytesOnDisk = 0

  mutating func add(_ nanoseconds: UInt64, isIdle: Bool, isCopied: Bool) {
    func add(to latencies: inout Latencies) {
      if isIdle { latencies.idle.add(nanoseconds) } else { latencies.load.add(nanoseconds) }
    }
    if isCopied { add(to: &copied) } else { add(to: &lent) }
  }

  mutating func add(_ other: PromiseResults) {
    lent.add(other.lent)
    copied.add(other.copied)
    missCount += other.missCount
    blobCount += other.blobCount
    changeCount += other.changeCount
    refusedCount += other.refusedCount
    compactionCount += other.compactionCount
  }

  func text(_ plan: PromiseRun.Plan) -> String {
    let cores = sysconf(CInt(_SC_NPROCESSORS_ONLN))
    var lines = [
      "\(plan.seconds) s on \(cores) processors, a budget of \(plan.budget) bytes, \(plan.keyCount) keys",
      "\(PromiseRun.Plan.readers) readers: \(lent.count + copied.count) borrowed gets, \(missCount) misses, "
        + "\(blobCount) Blobs",
      "\(PromiseRun.Plan.writers) writers: \(changeCount) changes, \(refusedCount) of them refused for want of room; "
        + "\(evictedCount) entries evicted, \(movedCount) records moved, \(compactionCount) full compactions",
      "a reader process: \(refreshCount) refreshes, \(processReadCount) reads",
      "the folder: at most \(mostBytesOnDisk) bytes in \(sampleCount) samples, "
        + "\(PromiseResults.fixed(Double(mostBytesOnDisk) * 100 / Double(plan.budget), 1)) % of the budget",
    ]
    var all = lent
    all.add(copied)
    for (name, latencies) in [("get", all), ("lent", lent), ("decompressed", copied)] {
      for (rank, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let (idle, load) = (latencies.idle.percentile(share), latencies.load.percentile(share))
        let ratio = idle > 0 ? PromiseResults.fixed(load / idle, 2) : "-"
        lines.append("\(name), \(rank): \(Int(idle)) ns idle, \(Int(load)) ns under load, \(ratio) x")
      }
    }
    lines.append("get at most: \(all.idle.longest) ns idle, \(all.load.longest) ns under load")
    lines.append("violations: \(violations.count)")
    return (lines + violations.prefix(20).map { "  \($0)" }).joined(separator: "\n")
  }

  private static func fixed(_ number: Double, _ places: Int) -> String {
    let scale = places == 1 ? 10.0 : 100
    let scaled = Int((number * scale).rounded())
    let fraction = String(scaled % Int(scale))
    return "\(scaled / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
  }
}
