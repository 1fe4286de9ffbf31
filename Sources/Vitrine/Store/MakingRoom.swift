// Where room comes from once the budget is used up. Whoever needs room makes it, under the upkeep lock: dead segments go,
// sparse ones are taken apart, and entries are evicted so that there are sparse ones. Upkeep does the same ahead of time,
// so that callers seldom have to. `Docs/Budget.md` argues why this always ends, and never beyond the budget.
extension StoreCore {
  /// Makes the ledger admit `byteCount` more. Throws `noSpace` when all that may go has gone, and it still does not. Under
  /// the upkeep lock, which must stay held until the bytes are taken.
  func makeRoom(for byteCount: Int) throws(StoreError) {
    var waited = 0
    while !locked({ ledger.admits(byteCount) }) {
      try removeOrphans()
      try retireDeadSegments()
      if locked({ ledger.admits(byteCount) }) { return }
      if waited < StoreCore.longestPatience, leavingByteCount > 0 {
        environment.clock.sleep(milliseconds: 1)
        waited += 1
        continue
      }
      guard try reclaim(byteCount) else { throw .noSpace }
    }
  }

  /// Milliseconds to wait for bytes that are about to be free, before entries go for the lack of them.
  private static let longestPatience = 100

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
    while locked({ ledger.total }) > goal {
      try retireDeadSegments()
      if locked({ ledger.total }) <= goal { break }
      guard try reclaim(byteCount, goal: goal) else { return false }
    }
    return true
  }

  /// One step towards room: false when there is none to be made.
  private func reclaim(_ byteCount: Int, goal: Int? = nil) throws(StoreError) -> Bool {
    try trimSealedSegments()
    let (missing, dead, allowance) = locked {
      (
        goal.map { ledger.total - $0 } ?? ledger.missing(byteCount), compactable().reduce(0) { $0 + $1.deadByteCount },
        Sizing.deadAllowance(budget: ledger.budget, own: ledger.own, segmentByteCount: segmentByteCount)
      )
    }
    if missing <= 0 { return true }
    // The more is dead, the less has to be copied for what is gained; the more may be dead, the fewer entries fit.
    if dead >= allowance, let step = try compactOnce(leastDead: 1.0 / 64), step.segmentCount > 0 { return true }
    if try evict(byteCount: max(allowance - dead, min(missing, allowance))) > 0 { return true }
    // Nothing is left that could be forgotten: what little is dead between what others are still writing.
    return (try compactOnce(leastDead: 1.0 / 64)?.segmentCount ?? 0) > 0
  }

  /// How long a change waits for room that others hold.
  static let longestWaitMilliseconds = 5000

  /// Called where there is no room: waits a moment for others to give back what they hold, or throws `noSpace` where
  /// nobody but the caller holds anything, or it has been too long. Under no lock.
  func waitForRoom(_ waited: inout Int) throws(StoreError) {
    guard waited < StoreCore.longestWaitMilliseconds, othersHoldRoom() else { throw .noSpace }
    let pause = 2
    environment.clock.sleep(milliseconds: pause)
    waited += pause
  }

  private func othersHoldRoom() -> Bool {
    if locked({ !unfinished.areOwn }) { return true }
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    return retiring.contains { catalog.segments.isPinnedByOthers($0.slot) }
  }

  /// The most bytes of segments that fit when everything else has gone: the budget, less what the store needs for itself
  /// and for the segments that may be open. Under the commit lock.
  var largestSum: Int { max(0, ledger.budget - ledger.own - StoreCore.mostOpenSegments * segmentByteCount) }

  /// The most bytes of segments that fit beside those that are open now and the spare for copies. Under the commit lock.
  var largestExtent: Int {
    let open = openSegments.reduce(0) { $0 + ($1?.byteCount ?? 0) }
    return max(0, ledger.budget - ledger.own - open - segmentByteCount)
  }

  /// The most bytes of one value that fit with `overhead` bytes of its key and its place.
  func largestValue(overhead: Int = 0) -> Int {
    min(RecordHeader.largestPayload, max(0, largestSum / 4096 * 4096 - roundUp(overhead, to: 4096)))
  }

  /// Four that take records, one for the next, one for copies.
  static let mostOpenSegments = 6

  // MARK: Budgets

  /// Changes the budgets: durable before they hold, and in force when this returns. A smaller one takes effect at once,
  /// by eviction and compaction.
  func setBudgets(byteBudget: Int?, entryBudget: Int?) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    var changed = locked { current }
    if let byteBudget { changed.byteBudget = byteBudget }
    if let entryBudget { changed.entryBudget = entryBudget }
    try requireValid(changed)
    if changed == locked({ current }) { return }
    changed.generation += 1
    try write(changed)
    locked {
      current = changed
      ledger.budget = changed.byteBudget
    }
    blobLimit.store(changed.byteBudget / 8, ordering: .relaxed)
    try shrink()
  }

  private func requireValid(_ identity: StoreIdentity) throws(StoreError) {
    guard identity.entryBudget >= 0 else {
      throw .invalidArgument("an entry budget is 0 for no limit, or more, not \(identity.entryBudget)")
    }
    let least = locked { ledger.leastBudget }
    guard identity.byteBudget >= least else {
      throw .invalidArgument("this store's byte budget is at least \(least) bytes, not \(identity.byteBudget)")
    }
  }

  /// Brings the store inside its budgets. Under the upkeep lock.
  func shrink() throws(StoreError) {
    let excess = locked { entryBudget == 0 ? 0 : catalog.keyCount - entryBudget }
    if excess > 0 { _ = try evict(byteCount: .max, count: excess) }
    if locked({ ledger.admits(0) }) { return }
    // Room that was made ahead goes first: for the size that segments had so far.
    try giveUpSpares()
    try sealOpenSegments { $0.byteCount > segmentByteCount }
    try makeRoom(for: 0)
  }

  /// Gives up spares that are larger than segments are now, and all others but `kept` of them.
  func giveUpSpares(but kept: Int = .max) throws(StoreError) {
    let extra = locked {
      let usual = spares.filter { $0.byteCount <= segmentByteCount }
      return spares.filter { $0.byteCount > segmentByteCount } + usual.dropFirst(kept)
    }
    if extra.isEmpty { return }
    for spare in extra { try retire(spare) }
    try retireDeadSegments()
  }

  /// Seals open segments, so that their ends can be cut off.
  func sealOpenSegments(where isWanted: (Segment) -> Bool) throws(StoreError) {
    for index in locked({ openSegments.indices }) {
      try recordForSure {
        openSegments[index].flatMap { isWanted($0) ? [.segmentSealed(slot: $0.slot, byteCount: $0.byteCount)] : nil }
          ?? []
      } then: {
        openSegments[index] = nil
      }
    }
  }
}
