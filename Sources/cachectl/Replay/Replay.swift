import CacheCtlKit
import Vitrine

/// Runs a trace through a store: a get for each request, and a put after each miss.
struct Replay {
  /// Requests between two samples of the space.
  static let sampleInterval = 1000
  /// Mismatches that are described one by one.
  private static let describedMismatches = 10

  let trace: Trace
  let policy: EvictionPolicy
  let budget: ReplayBudget
  /// The payloads to put, and those to expect; they differ only in tests of the comparison.
  let payload: TracePayload
  let expected: TracePayload
  /// The folder of the store, which is missing or empty.
  let path: String
  /// The most bytes that are put in a second; nil for no limit.
  let byteRate: Int?

  init(
    _ trace: Trace, policy: EvictionPolicy, budget: ReplayBudget, payload: TracePayload, expected: TracePayload? = nil,
    path: String, byteRate: Int? = nil
  ) {
    self.trace = trace
    self.policy = policy
    self.budget = budget
    self.payload = payload
    self.expected = expected ?? payload
    self.path = path
    self.byteRate = byteRate
  }

  func run(progress: Progress, warn: (String) -> Void) throws -> ReplayReport {
    let before = WrittenBytes.now()
    let store = try CacheStore.open(at: path, options: StoreOptions(byteBudget: budget.byteCount, policy: policy))
    do {
      var report = try replay(store, progress, warn)
      try store.flush()
      if let before { report.written = WrittenBytes.now()?.since(before) }
      report.add(store.statistics())
      sample(store, &report)
      try store.close()
      return report
    } catch {
      // The first error is the one to report.
      try? store.close()
      throw error
    }
  }

  private func replay(_ store: CacheStore, _ progress: Progress, _ warn: (String) -> Void) throws -> ReplayReport {
    var report = ReplayReport(policy: policy, budget: budget, byteRate: byteRate)
    var pace = PutPace(byteRate: byteRate)
    let buffer = PayloadBuffer()
    var key = TraceKey()
    let start = Time.monotonicNanoseconds()
    try trace.readAll { request, reader in
      key.set(request.object)
      let (isHit, mismatch) = get(request, key, store, &report)
      if let mismatch, report.mismatchCount <= Replay.describedMismatches {
        warn("\(reader.place): object \(request.object) differs from the bytes put at offset \(mismatch)")
      }
      report.counts.add(request.byteCount, isHit: isHit)
      if !isHit {
        try pace.wait()
        let before = report.putByteCount
        try put(request, key, store, buffer, &report)
        pace.note(report.putByteCount - before)
      }
      if report.counts.requestCount % Replay.sampleInterval == 0 { sample(store, &report) }
      progress.show(reader.position, of: reader.byteCount)
    }
    report.seconds = Double(Time.monotonicNanoseconds() - start) / 1e9
    return report
  }

  /// Returns whether the object was there with the requested size. Compares its bytes in any case, and returns the
  /// offset of the first difference.
  private func get(
    _ request: TraceRequest, _ key: TraceKey, _ store: CacheStore, _ report: inout ReplayReport
  ) -> (isHit: Bool, mismatch: Int?) {
    var comparison: UInt64 = 0
    var mismatch: Int?
    let start = Time.monotonicNanoseconds()
    let byteCount: Int? = store.get(key.url.span.bytes) { bytes in
      let begin = Time.monotonicNanoseconds()
      mismatch = expected.mismatch(bytes, object: request.object)
      comparison = Time.monotonicNanoseconds() - begin
      return bytes.byteCount
    }
    let elapsed = Time.monotonicNanoseconds() - start
    // The closure has run also if the release found the bytes invalid, as after a bus error: that get is a miss.
    guard let byteCount else { return (false, nil) }
    report.gets.add(elapsed - min(comparison, elapsed))
    if mismatch != nil { report.mismatchCount += 1 }
    return (byteCount == request.byteCount, mismatch)
  }

  private func put(
    _ request: TraceRequest, _ key: TraceKey, _ store: CacheStore, _ buffer: PayloadBuffer,
    _ report: inout ReplayReport
  ) throws {
    try buffer.with(payload, request) { bytes in
      let key = CacheKey(bytes: key.url)
      let start = Time.monotonicNanoseconds()
      do {
        try store.put(bytes, for: key)
      } catch StoreError.tooLarge {
        report.refusedCount += 1
        return
      }
      let elapsed = Time.monotonicNanoseconds() - start
      report.puts.add(elapsed)
      report.putSeconds += Double(elapsed) / 1e9
      report.putCount += 1
      report.putByteCount &+= bytes.byteCount
    }
  }

  private func sample(_ store: CacheStore, _ report: inout ReplayReport) {
    // A walk through the folder takes time: a removed file may be counted with its successor.
    let usages = (0..<3).lazy.map { _ in FolderTree.diskUsage(path) }
    let usage = usages.first { $0 <= budget.byteCount } ?? usages.min() ?? 0
    let statistics = store.statistics()
    report.usage.add(
      bytesOnDisk: usage, liveByteCount: statistics.logicalByteCount, isFull: statistics.evictedCount > 0)
  }
}

extension ReplayReport {
  fileprivate mutating func add(_ statistics: StoreStatistics) {
    engineAmplification = statistics.writeAmplification
    evictionCount = statistics.evictedCount
    curve = statistics.missCurve
    damagedCount = statistics.damagedCount + statistics.lostCount
  }
}

/// The URL of an object: its id in decimal. Made in place, without an allocation for each request.
struct TraceKey {
  private(set) var url: [UInt8] = []

  init() { url.reserveCapacity(20) }

  mutating func set(_ object: UInt64) {
    url.removeAll(keepingCapacity: true)
    var rest = object
    repeat {
      url.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    url.reverse()
  }
}
