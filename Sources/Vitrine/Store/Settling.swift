// Compaction that nobody waits for: when a store has grown quiet, when an app says that it is idle, and when somebody
// wants the folder as small as it gets. None of it evicts anything.
extension StoreCore {
  /// Nanoseconds without a put after which a store counts as quiet, and from one step to the next.
  private static let quietTime: UInt64 = 3_000_000_000
  private static let stepTime: UInt64 = 1_000_000_000

  /// Whether nothing was put for a while, as far as upkeep has noticed. Under the upkeep lock.
  func noteQuiet() -> Bool {
    let now = environment.clock.monotonicNanoseconds()
    let put = bytesPut.load(ordering: .relaxed)
    if put != quiet.bytesPut {
      quiet.bytesPut = put
      quiet.lastPut = now
    }
    return now &- quiet.lastPut >= StoreCore.quietTime
  }

  /// One step, of at most a segment's bytes, if the store is quiet and it is worth it: a second of time for about a
  /// hundredth of the budget. Called in each round of upkeep, under the upkeep lock.
  func settle() throws(StoreError) {
    let now = environment.clock.monotonicNanoseconds()
    guard noteQuiet(), now &- quiet.lastStep >= StoreCore.stepTime, compactionCount == 0 else { return }
    quiet.lastStep = now
    try giveUpSpares(but: 1)
    _ = try settleOnce()
  }

  /// Whether a step was made.
  private func settleOnce() throws(StoreError) -> Bool {
    let isWorthIt = locked {
      let dead = compactable().reduce(0) { $0 + $1.deadByteCount }
      let live = catalog.liveByteCount
      return dead > segmentByteCount && dead > live / 50 && ledger.total > live + live / 8
    }
    guard isWorthIt else { return false }
    try makeCopySpare()
    return try compactOnce(leastDead: 1.0 / 16).map { $0.segmentCount > 0 } ?? false
  }

  /// Does what upkeep would do in the course of time, until there is nothing left to do or `goesOn` says no. True when
  /// there is nothing left.
  func idle(_ goesOn: () -> Bool) throws(StoreError) -> Bool {
    try requireWritable()
    try requireNamedNow()
    upkeep(isIdle: true)
    try? checkLeftovers()
    while goesOn() {
      if try expire(lookingAt: StoreCore.mostLooks).mayBeMore { continue }
      let hasMade = try underUpkeep { () throws(StoreError) in
        try requireWritable()
        try giveUpSpares(but: 1)
        try trimSealedSegments()
        return try settleOnce()
      }
      if !hasMade { return true }
    }
    return false
  }

  // MARK: All of it

  /// Copies until nothing dead lies in the segments that are there now, and erases the log's old frames, which makes readers
  /// that follow the log begin anew.
  func compact(
    erasesLog: Bool = true, progress: (Int, Int) -> Bool
  ) throws(StoreError) -> CompactionReport {
    let started = environment.clock.monotonicNanoseconds()
    var report = CompactionReport()
    try underUpkeep { () throws(StoreError) in
      try requireWritable()
      try requireNamedNow()
      compactionCount += 1
      report.bytesBefore = locked { ledger.total }
    }
    defer { underUpkeep { compactionCount -= 1 } }
    _ = try removeExpired()
    try underUpkeep { () throws(StoreError) in
      try sealOpenSegments { holdsDeadRecords($0) }
      try retireDeadSegments()
      try trimSealedSegments()
      try shrink()
    }
    try checkLeftovers()
    // Records that other threads kill from here on are for the next compaction, or this one would never end beside them.
    let (end, all) = locked {
      (catalog.nextSegment, compactable().filter(isWorthCopying).reduce(0) { $0 + $1.liveByteCount })
    }
    var done = 0
    var isStuck = false
    report.isInterrupted = !progress(0, all)
    while !report.isInterrupted, !isStuck {
      let step = try underUpkeep { () throws(StoreError) -> CompactionStep? in
        try requireWritable()
        guard locked({ compactable().contains { isWorthCopying($0) && catalog.segments.id($0.slot) < end } }) else {
          return nil
        }
        try makeCopySpare()
        return try compactOnce(leastDead: 0, olderThan: end)
      }
      guard let step else { break }
      done += step.byteCount
      report.recordsMoved += step.recordCount
      report.recordsDropped += step.droppedCount
      isStuck = step.segmentCount == 0 && step.recordCount == 0
      report.isInterrupted = !progress(min(done, all), all)
    }
    try underUpkeep { () throws(StoreError) in
      try retireDeadSegments()
      try trimSealedSegments()
      if !report.isInterrupted, erasesLog {
        let isCompact = locked {
          !catalog.segments.segments.contains { $0.map { $0.id < end && holdsDeadRecords($0) } ?? false }
        }
        report.isErased = try eraseLog() && isCompact
      }
      // Room for copies that took more than the copying gained.
      if locked({ ledger.total > report.bytesBefore }) {
        try sealOpenSegments { $0.stream == $0.stream.copies }
        try trimSealedSegments()
        try giveUpSpares(but: 0)
        try retireDeadSegments()
      }
      report.bytesAfter = locked { ledger.total }
    }
    report.seconds = Double(environment.clock.monotonicNanoseconds() - started) / 1e9
    return report
  }

  private func isWorthCopying(_ load: SegmentLoad) -> Bool { load.deadByteCount > 0 }

  /// Whether records lie in the segment that nothing needs. Under the commit lock.
  private func holdsDeadRecords(_ segment: Segment) -> Bool {
    guard segment.state == .open || segment.state == .sealed else { return false }
    return segment.tail - SegmentHeader.byteCount > (segment.liveUnits + segment.boundUnits) * Unit.byteCount
  }

  /// A spare for copies, where there is none and room for one without taking it from an entry.
  private func makeCopySpare() throws(StoreError) {
    let (isThere, byteCount) = locked { (spares.contains { $0.byteCount >= segmentByteCount }, segmentByteCount) }
    if isThere { return }
    do throws(StoreError) {
      if let spare = try makeSegment(byteCount: byteCount, evicts: false) { locked { spares.append(spare) } }
    } catch {
      // A full disk, or budget: then with what room there is.
      guard case .noSpace = error else { throw error }
    }
  }

  func underUpkeep<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    return try body()
  }
}

/// When the store was last put to, as upkeep has noticed, and last compacted for want of anything better. Monotonic
/// nanoseconds, guarded by the upkeep lock.
struct QuietWatch {
  var bytesPut = 0
  var lastPut: UInt64 = 0
  var lastStep: UInt64 = 0
}
