// Where room comes from once the budget is used up. Whoever needs room makes it, under the upkeep lock: dead segments go,
// sparse ones are taken apart, and entries are evicted so that there are sparse ones. Upkeep does the same ahead of time,
// so that callers seldom have to. `Docs/Budget.md` argues why this always ends, and never beyond the budget.
extension StoreCore {
  /// Makes the ledger admit `byteCount` more. Throws `noSpace` when all that may go has gone, and it still does not. Under
  /// the upkeep lock, which must stay held until the bytes are taken.
  func makeRoom(for byteCount: Int) throws(StoreError) {
    var all = Int.max
    try makeRoom(for: byteCount, evicting: &all)
  }

  /// The same at the cost of entries of `most` bytes, of which those that went are taken off.
  func makeRoom(for byteCount: Int, evicting most: inout Int) throws(StoreError) {
    guard try makeRoom(evicting: &most, until: { ledger.missing(byteCount) }) else { throw .noSpace }
  }

  /// Gives so many bytes back to a full disk, at the cost of entries. False when there are not as many.
  func giveBack(_ byteCount: Int) throws(StoreError) -> Bool {
    let (goal, most) = locked {
      (
        ledger.total - byteCount,
        catalog.segments.segments.reduce(0) { $0 + ($1?.state == .sealed ? $1?.allocatedByteCount ?? 0 : 0) }
      )
    }
    // A disk that others have filled is not made roomy by a few entries: they stay.
    if most < byteCount { return false }
    var all = Int.max
    return try makeRoom(evicting: &all) { ledger.total - goal }
  }

  /// Milliseconds to wait for bytes that are about to be free, before entries go for the lack of them: those that a thread
  /// reads, which may take as long as it likes, and those that a sync is still at work on.
  private static let patience = (reads: 100, syncs: 2000)

  /// Frees bytes until none are `missing`, which is asked under the commit lock. False when there are no more to be had.
  private func makeRoom(evicting most: inout Int, until missing: () -> Int) throws(StoreError) -> Bool {
    var waited = 0
    while locked(missing) > 0 {
      try removeOrphans()
      try retireDeadSegments()
      if locked(missing) <= 0 { break }
      let patience = leavesSoon ? StoreCore.patience.syncs : isLeaving ? StoreCore.patience.reads : 0
      if waited < patience {
        environment.clock.sleep(milliseconds: 1)
        waited += 1
        continue
      }
      guard try reclaim(missing, evicting: &most) else { return false }
    }
    return true
  }

  /// One step towards room: false when there is none to be made.
  private func reclaim(_ missing: () -> Int, evicting most: inout Int) throws(StoreError) -> Bool {
    try trimSealedSegments()
    let (missing, dead, allowance) = locked {
      (
        missing(), compactable().reduce(0) { $0 + $1.deadByteCount },
        Sizing.deadAllowance(budget: ledger.budget, own: ledger.own, segmentByteCount: segmentByteCount)
      )
    }
    if missing <= 0 { return true }
    // The more is dead, the less has to be copied for what is gained; the more may be dead, the fewer entries fit.
    if dead >= allowance, let step = try compactOnce(leastDead: 1.0 / 64), step.segmentCount > 0 { return true }
    if try evict(byteCount: max(allowance - dead, min(missing, allowance)), most: &most) > 0 { return true }
    // Nothing is left that may be forgotten: what little is dead between what others are still writing.
    return (try compactOnce(leastDead: 1.0 / 64)?.segmentCount ?? 0) > 0
  }
}
