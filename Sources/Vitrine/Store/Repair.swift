/// What a repair found.
public struct RepairReport: Sendable {
  public var segmentCount = 0
  /// Records that were read through and checked.
  public var recordCount = 0
  /// Keys that the store now has.
  public var entryCount = 0
  /// Records that failed their check and were left out.
  public var damaged: [VerificationReport.Problem] = []
  public var notes: [String] = []
}

extension CacheStore {
  /// Builds the index anew from the segments alone, checks every record, and writes a checkpoint.
  ///
  /// Brings back every key whose record is there; keys that were removed may come back too. Takes the store for
  /// writing. Reads every byte. `progress` gets segments done and segments in all.
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
    defer { try? core.close() }
    var report = RepairReport()
    report.notes = core.lastOpen.notes
    report.segmentCount = core.locked { core.catalog.segments.segments.count { $0 != nil } }
    var done = 0
    for segment in core.locked({ core.catalog.segments.segments.compactMap { $0 } }) {
      progress?(done, report.segmentCount)
      done += 1
      for (hash, location) in core.keys(slot: segment.slot) {
        report.recordCount += 1
        let outcome = core.check(location, readsPayload: true)
        if case .unavailable(let error) = outcome { throw .system(error) }
        guard case .damaged(let reason) = outcome else { continue }
        let key = core.locked { core.catalog.record(at: location, checks: true).map { $0.key } }
        _ = try core.removeDamaged(hash, location)
        report.damaged.append(
          .init(
            file: "\(CacheFormat.segmentsFolder)/\(segment.fileName)", offset: location.offset, key: key,
            reason: reason))
      }
    }
    progress?(done, report.segmentCount)
    report.entryCount = core.locked { core.catalog.keyCount }
    try core.checkLeftovers()
    try core.close()
    // Also what the opening and the checkpoint met on their way.
    let givenUp = core.damagedCount.load(ordering: .relaxed) + core.lostCount.load(ordering: .relaxed)
    if givenUp > 0 { report.notes.append("\(givenUp) entries were given up, whose records could not be read") }
    return report
  }
}
