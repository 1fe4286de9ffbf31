/// Frees bytes of the budget.
///
/// Where room comes from once the budget is used up. Whoever needs room makes it, under the upkeep lock: dead segments go,
/// sparse ones are taken apart, and entries are evicted so that there are sparse ones. Upkeep does the same ahead of time,
/// so that callers seldom have to. `Docs/Budget.md` argues why this always ends, and never beyond the budget.
final class Reclaimer: StorePart {
  let context: StoreContext
  private let retirement: SegmentRetirement
  private let evictor: Evictor
  private let compactor: Compactor

  init(_ context: StoreContext, retirement: SegmentRetirement, evictor: Evictor, compactor: Compactor) {
    self.context = context
    self.retirement = retirement
    self.evictor = evictor
    self.compactor = compactor
  }

  /// Brings the store inside its budgets.
  func shrink(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let excess = commitLock.withLock { held in
      held.state.entryBudget == 0 ? 0 : catalog.keyCount - held.state.entryBudget
    }
    if excess > 0 { _ = try evictor.evict(byteCount: .max, count: excess, upkeep) }
    if commitLock.withLock({ held in held.state.ledger.admits(0) }) { return }
    // Room that was made ahead goes first: for the size that segments had so far.
    try retirement.giveUpSpares(upkeep)
    let usual = commitLock.withLock { held in held.state.segmentByteCount }
    try retirement.sealOpenSegments(upkeep) { $0.byteCount > usual }
    try makeRoom(for: 0, upkeep)
  }

  /// Makes the ledger admit `byteCount` more. Throws `noSpace` when all that may go has gone, and it still does not. The
  /// upkeep lock must stay held until the bytes are taken.
  func makeRoom(for byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    var all = Int.max
    try makeRoom(for: byteCount, evicting: &all, upkeep)
  }

  /// The same at the cost of entries of `most` bytes, of which those that went are taken off.
  func makeRoom(
    for byteCount: Int, evicting most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) {
    let isDone = try makeRoom(evicting: &most, upkeep) { ledger in ledger.missing(byteCount) }
    if !isDone { throw .noSpace }
  }

  /// Gives so many bytes back to a full disk, at the cost of entries. False when there are not as many.
  func giveBack(_ byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    let (goal, most) = commitLock.withLock { held in
      (
        held.state.ledger.total - byteCount,
        catalog.segments.segments.reduce(0) { $0 + ($1?.state == .sealed ? $1?.allocatedByteCount ?? 0 : 0) }
      )
    }
    // A disk that others have filled is not made roomy by a few entries: they stay.
    if most < byteCount { return false }
    var all = Int.max
    return try makeRoom(evicting: &all, upkeep) { ledger in ledger.total - goal }
  }

  /// Milliseconds to wait for bytes that are about to be free, before entries go for the lack of them: those that a thread
  /// reads, which may take as long as it likes, and those that a sync is still at work on.
  private static let patience = (reads: 100, syncs: 2000)

  /// Frees bytes until none are `missing`. False when there are no more to be had.
  private func makeRoom(
    evicting most: inout Int, _ upkeep: borrowing UpkeepLock.Held, until missing: (Ledger) -> Int
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
      guard try reclaim(missing, evicting: &most, upkeep) else { return false }
    }
    return true
  }

  /// One step towards room: false when there is none to be made.
  private func reclaim(
    _ missing: (Ledger) -> Int, evicting most: inout Int, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Bool {
    try retirement.trimSealedSegments(upkeep)
    let (missing, dead, allowance) = commitLock.withLock { held in
      (
        missing(held.state.ledger), catalog.compactable(held).reduce(0) { $0 + $1.deadByteCount },
        Sizing.deadAllowance(
          budget: held.state.ledger.budget, own: held.state.ledger.own, segmentByteCount: held.state.segmentByteCount)
      )
    }
    if missing <= 0 { return true }
    // The more is dead, the less has to be copied for what is gained; the more may be dead, the fewer entries fit.
    if dead >= allowance, let step = try compactor.compactOnce(leastDead: 1.0 / 64, upkeep), step.segmentCount > 0 {
      return true
    }
    if try evictor.evict(byteCount: max(allowance - dead, min(missing, allowance)), most: &most, upkeep) > 0 {
      return true
    }
    // Nothing is left that may be forgotten: what little is dead between what others are still writing.
    return (try compactor.compactOnce(leastDead: 1.0 / 64, upkeep)?.segmentCount ?? 0) > 0
  }
}
