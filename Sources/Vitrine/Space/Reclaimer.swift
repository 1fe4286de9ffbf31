/// Frees bytes of the budget.
///
/// If the budget is used up, the thread that needs room frees it under the upkeep lock. It unlinks dead segments,
/// compacts sparse ones, and evicts entries to make segments sparse. Upkeep does the same ahead of time, so that
/// callers seldom have to. `Docs/Budget.md` proves that this always ends and never exceeds the budget.
final class Reclaimer: StorePart {
  let context: StoreContext
  private let retirement: SegmentRetirement
  private let evictor: Evictor
  private let compactor: Compactor
  private let cleaner: SegmentCleaner

  init(
    _ context: StoreContext, retirement: SegmentRetirement, evictor: Evictor, compactor: Compactor,
    cleaner: SegmentCleaner
  ) {
    self.context = context
    self.retirement = retirement
    self.evictor = evictor
    self.compactor = compactor
    self.cleaner = cleaner
  }

  /// Brings the store within its budgets.
  func shrink(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let excess = commitLock.withLock { held in
      held.state.entryBudget == 0 ? 0 : held.state.index.keyCount - held.state.entryBudget
    }
    if excess > 0 { _ = try evictor.evict(byteCount: .max, count: excess, upkeep) }
    if commitLock.withLock({ held in held.state.ledger.admits(0) }) { return }
    // Spares and open segments that are larger than the present segment size go first.
    try retirement.retireSpares(upkeep)
    let usual = commitLock.withLock { held in held.state.largestSegment }
    try retirement.sealOpenSegments(upkeep) { $0.byteCount > usual }
    try makeRoom(for: 0, upkeep)
  }

  /// Brings the folder to at most `byteCount` bytes, or as near as eviction of all entries comes to it. Returns the
  /// number of entries removed.
  func makeRoom(downTo byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Int {
    var work = Work(size: byteCount)
    _ = try makeRoom(&work, upkeep) { ledger in ledger.total - byteCount }
    return work.removedCount
  }

  /// Frees bytes until the ledger admits `byteCount` more. Throws `noSpace` if nothing more can be freed. The caller
  /// must hold the upkeep lock until it has taken the bytes.
  func makeRoom(for byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    var all = Int.max
    try makeRoom(for: byteCount, evicting: &all, upkeep)
  }

  /// Frees bytes for `byteCount` more, evicting at most `most` bytes, and subtracts the bytes evicted from `most`.
  func makeRoom(
    for byteCount: Int, evicting most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) {
    var work = Work(most: most)
    defer { most = work.most }
    if try !makeRoom(&work, upkeep, until: { ledger in ledger.missing(byteCount) }) { throw .noSpace }
  }

  /// Frees `byteCount` bytes on a full disk by evicting entries. Returns false if so many cannot be freed.
  func freeOnFullDisk(_ byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    let (goal, most) = commitLock.withLock { held in
      let sealed = held.state.index.segments.all.reduce(0) {
        $0 + ($1.map { held.state[$0].state == .sealed ? held.state[$0].allocatedByteCount : 0 } ?? 0)
      }
      return (held.state.ledger.total - byteCount, sealed - (held.state.index.sums[.pinned]?.byteCount ?? 0))
    }
    // A few entries would not make room on a disk that other programs have filled, so they stay.
    if most < byteCount { return false }
    var work = Work()
    return try makeRoom(&work, upkeep) { ledger in ledger.total - goal }
  }

  /// Milliseconds to wait for bytes that will soon be free before entries are evicted instead. A read may take any
  /// time, so the wait for reads is short; a sync ends, so the wait for syncs is longer.
  private static let patience = (reads: 100, syncs: 2000)

  /// The bounds and the result of one request for bytes.
  private struct Work {
    /// Bytes that may still be evicted.
    var most = Int.max
    /// The size to which the store is to shrink; nil for its budget.
    var size: Int?
    var removedCount = 0
    /// Segments queued again since the request began.
    var queuedCount = 0
  }

  /// Frees bytes until none are `missing`. Returns false if no more can be freed.
  private func makeRoom(
    _ work: inout Work, _ upkeep: borrowing UpkeepLock.Held, until missing: (Ledger) -> Int
  ) throws(StoreError) -> Bool {
    var waited = 0
    while commitLock.withLock({ held in missing(held.state.ledger) }) > 0 {
      try retirement.removeOrphans(upkeep)
      try retirement.retireDeadSegments(upkeep)
      if commitLock.withLock({ held in missing(held.state.ledger) }) <= 0 { break }
      let patience =
        retirement.leavesSoon(upkeep)
        ? Reclaimer.patience.syncs : retirement.isLeaving(upkeep) ? Reclaimer.patience.reads : 0
      if waited < patience {
        environment.clock.sleep(milliseconds: 1)
        waited += 1
        continue
      }
      // If nothing is left to evict, another thread may have removed the last entries since the look above.
      if try !reclaim(missing, &work, upkeep), try !retirement.retireDeadSegments(upkeep) { return false }
    }
    return true
  }

  /// Does one step to free bytes. Returns false if there is nothing to do.
  private func reclaim(
    _ missing: (Ledger) -> Int, _ work: inout Work, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Bool {
    try retirement.trimSealedSegments(upkeep)
    let size = work.size
    let (missing, dead, allowance) = commitLock.withLock { held in
      (
        missing(held.state.ledger), held.state.compactable.reduce(0) { $0 + $1.deadByteCount },
        size.map {
          Sizing.deadAllowance(
            budget: $0, own: held.state.ledger.present, segmentByteCount: held.state.segmentByteCount)
        }
          ?? Sizing.deadAllowance(
            budget: held.state.ledger.budget, own: held.state.ledger.own, segmentByteCount: held.state.largestSegment)
      )
    }
    if missing <= 0 { return true }
    if let rules = policyRules.cleaning, work.most > 0 {
      let step = try cleaner.clean(
        by: rules, reclaimsDead: dead > allowance, most: &work.most, queuedCount: &work.queuedCount, upkeep)
      work.removedCount += step.removedCount
      if step.hasProgressed { return true }
    }
    // More dead bytes make compaction copy less for each byte it frees, but leave less room for entries.
    if dead >= allowance, let step = try compactor.compactOnce(leastDead: Compactor.leastDeadInNeed, upkeep),
      step.mayFreeMore
    {
      return true
    }
    let wanted = max(allowance - dead, min(missing, allowance))
    let removed = try evictor.evict(byteCount: wanted, most: &work.most, upkeep)
    work.removedCount += removed
    if removed > 0 { return true }
    // Nothing could be evicted. Dead bytes below the allowance are then reclaimed too.
    return try compactor.compactOnce(leastDead: Compactor.leastDeadInNeed, upkeep)?.mayFreeMore ?? false
  }
}
