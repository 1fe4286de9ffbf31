/// Compacts a whole store. If the report has ``CompactionReport/isErased``, no file of the store holds bytes of entries
/// removed before.
///
/// Removed bytes lie in two places. Dead records lie in segments: compaction copies the live records beside them and
/// unlinks the files. Frames carry small records: a log file is overwritten with zeros, but only after a durable
/// checkpoint covers it (rule 6). So after a crash at any point, no recovery needs the file.
final class FullCompaction: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let retirement: SegmentRetirement
  private let expirer: Expirer
  private let compactor: Compactor
  private let reclaimer: Reclaimer
  private let roomRelease: RoomRelease
  private let supply: SegmentSupply
  private let leftovers: LeftoverChecker
  private let logEraser: LogEraser

  init(
    _ context: StoreContext, gate: WriteGate, retirement: SegmentRetirement, expirer: Expirer, compactor: Compactor,
    reclaimer: Reclaimer, roomRelease: RoomRelease, supply: SegmentSupply, leftovers: LeftoverChecker,
    logEraser: LogEraser
  ) {
    self.context = context
    self.gate = gate
    self.retirement = retirement
    self.expirer = expirer
    self.compactor = compactor
    self.reclaimer = reclaimer
    self.roomRelease = roomRelease
    self.supply = supply
    self.leftovers = leftovers
    self.logEraser = logEraser
  }

  /// Calls `remove`, then erases the bytes of all removed entries from the store's files. Returns the number of entries
  /// removed.
  func erasing(_ remove: () throws(StoreError) -> Int) throws(StoreError) -> Int {
    let removed = try remove()
    if try !compact(progress: { _, _ in true }).isErased {
      throw .system(
        SystemError(
          code: SystemError.busy, operation: "erase (unfinished bodies or no room for copies) in",
          path: folders.root.path))
    }
    return removed
  }

  /// Copies live records until the present segments hold no dead records. If `erasesLog`, also overwrites the log's old
  /// frames. Read-only openings that follow the log then load a checkpoint. `progress` gets the bytes copied and the
  /// bytes to copy. If it returns false, the compaction ends early.
  func compact(
    erasesLog: Bool = true, progress: (Int, Int) -> Bool
  ) throws(StoreError) -> CompactionReport {
    // Checked before the lock is taken, because in a forked child the lock may never be released.
    try gate.requireWritable()
    let started = environment.clock.monotonicNanoseconds()
    var report = CompactionReport()
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      try gate.requireNamedNow()
      upkeep.state.quiet.beginCompaction()
      report.bytesBefore = commitLock.withLock { held in held.state.ledger.total }
    }
    defer { upkeepLock.withLock { upkeep in upkeep.state.quiet.endCompaction() } }
    _ = try expirer.removeExpired()
    let dirty = try upkeepLock.withLock { upkeep throws(StoreError) -> Set<UInt64> in
      // Only these hold records that died before the call. Those of them that are open are sealed next.
      let dirty = commitLock.withLock { held in
        Set(held.state.index.segments.all.compactMap { $0 }.filter { held.state[$0].holdsDeadRecords }.map(\.id))
      }
      try retirement.sealOpenSegments(upkeep) { $0.holdsDeadRecords }
      try retirement.retireDeadSegments(upkeep)
      try retirement.trimSealedSegments(upkeep)
      try reclaimer.shrink(upkeep)
      return dirty
    }
    try leftovers.checkLeftovers()
    // Records that other threads kill from here on are left to the next compaction. Otherwise this one might never end.
    let (end, all) = commitLock.withLock { held in
      (
        held.state.index.nextSegment,
        held.state.compactable.filter(isWorthCopying).reduce(0) { $0 + $1.liveByteCount }
      )
    }
    var done = 0
    var isStuck = false
    report.isInterrupted = !progress(0, all)
    while !report.isInterrupted, !isStuck {
      let step = try upkeepLock.withLock { upkeep throws(StoreError) -> CompactionStep? in
        try gate.requireWritable()
        guard
          commitLock.withLock({ held in
            held.state.compactable.contains { isWorthCopying($0) && catalog.segments.id($0.slot) < end }
          })
        else {
          return nil
        }
        try supply.makeCopySpare(leastDead: 0, upkeep)
        return try compactor.compactOnce(leastDead: 0, olderThan: end, upkeep)
      }
      guard let step else { break }
      done += step.byteCount
      report.recordsMoved += step.recordCount
      report.recordsDropped += step.droppedCount
      isStuck = step.isStuck
      report.isInterrupted = !progress(min(done, all), all)
    }
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try retirement.retireDeadSegments(upkeep)
      try retirement.trimSealedSegments(upkeep)
      if !report.isInterrupted, erasesLog {
        let isCompact = commitLock.withLock { held in
          !held.state.index.segments.all.contains { segment in
            guard let segment, dirty.contains(segment.id), case let account = held.state[segment] else { return false }
            // The dead part of a segment for one record is a gap, or a head before a payload in use.
            return account.holdsDeadRecords && (account.stream != .single || account.live.count == 0)
          }
        }
        report.isErased = try logEraser.eraseLog(upkeep) && isCompact
      }
      // The room for copies took more than the copying freed.
      if commitLock.withLock({ held in held.state.ledger.total > report.bytesBefore }) {
        try retirement.sealOpenSegments(upkeep) { $0.stream == $0.stream.copies }
        try retirement.trimSealedSegments(upkeep)
        try retirement.retireSpares(but: 0, upkeep)
        try retirement.retireDeadSegments(upkeep)
      }
      // The release also cuts the log, so it is left out when the log must stay.
      if erasesLog { try roomRelease.release(upkeep) }
      report.bytesAfter = commitLock.withLock { held in held.state.ledger.total }
    }
    report.seconds = Double(environment.clock.monotonicNanoseconds() - started) / 1e9
    return report
  }

  private func isWorthCopying(_ load: SegmentLoad) -> Bool { load.deadByteCount > 0 }
}
