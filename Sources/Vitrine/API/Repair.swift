/// The results of a repair.
public struct RepairReport: Sendable {
  /// Number of segments read.
  public var segmentCount = 0
  /// Number of records read and checked.
  public var recordCount = 0
  /// Number of keys in the store after the repair.
  public var entryCount = 0
  /// Records that failed their check and were left out.
  public var damaged: [VerificationReport.Problem] = []
  /// Other findings, as sentences for people.
  public var notes: [String] = []
}

extension CacheStore {
  /// Rebuilds the index from the segments alone, checks every record, and writes a checkpoint.
  ///
  /// Restores every key whose record is found, so removed keys may come back too. Opens the store for writing. Reads
  /// every byte. `progress` is called with the number of segments done and the total. Throws the errors of
  /// ``open(at:options:)``, such as `locked` while another opening writes, and the errors of every change
  /// (``CacheStore``).
  public static func repair(
    at path: String, progress: ((Int, Int) -> Void)? = nil
  ) throws(StoreError) -> RepairReport {
    try repair(at: path, environment: .posix, progress: progress)
  }

  package static func repair(
    at path: String, environment: Environment, progress: ((Int, Int) -> Void)? = nil
  ) throws(StoreError) -> RepairReport {
    var options = StoreOptions()
    options.createsIfMissing = false
    let opening = Opening(path: path, options: options, environment: environment, rebuilding: true)
    let core = try opening.run()
    defer { try? core.upkeep.closer.close() }
    var report = RepairReport()
    report.notes = core.context.opening.lastOpen.notes
    report.segmentCount = core.context.commitLock.withLock { held in
      held.state.index.segments.all.count { $0 != nil }
    }
    var done = 0
    for segment in core.context.commitLock.withLock({ held in held.state.index.segments.all.compactMap { $0 } }) {
      progress?(done, report.segmentCount)
      done += 1
      for (hash, location) in core.context.catalog.keys(slot: segment.slot) {
        report.recordCount += 1
        let outcome = core.checkpoints.checker.check(location, readsPayload: true)
        if case .unavailable(let error) = outcome { throw .system(error) }
        guard case .damaged(let reason) = outcome else { continue }
        let key = core.context.commitLock.withLock { _ in
          core.context.catalog.record(at: location, checks: true).map { $0.key }
        }
        _ = try core.checkpoints.entryRemover.removeDamaged(hash, location)
        report.damaged.append(
          .init(
            file: "\(CacheFormat.segmentsFolder)/\(segment.fileName)", offset: location.offset, key: key,
            reason: reason))
      }
    }
    progress?(done, report.segmentCount)
    report.entryCount = core.context.commitLock.withLock { held in held.state.index.keyCount }
    try core.upkeep.leftovers.checkLeftovers()
    try core.upkeep.closer.close()
    // These counts include failures that the opening and the checkpoint found.
    let givenUp =
      core.basics.meters.damagedCount + core.basics.meters.lostCount
    if givenUp > 0 { report.notes.append("\(givenUp) entries whose records could not be read were dropped") }
    return report
  }
}
