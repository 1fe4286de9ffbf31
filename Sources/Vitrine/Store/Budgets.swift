// What fits into the budgets, and what happens when they change.
extension StoreCore {
  /// The most bytes of segments that fit when everything else has gone: the budget, less what the store needs for itself
  /// and for the segments that may be open. Under the commit lock.
  var largestSum: Int { max(0, ledger.budget - ledger.own - StoreCore.mostOpenSegments * segmentByteCount) }

  /// The most bytes of segments that fit beside those that are open now and the spare for copies. Under the commit lock.
  var roomBesideOpen: Int {
    let open = openSegments.reduce(0) { $0 + ($1?.byteCount ?? 0) }
    return max(0, ledger.budget - ledger.own - open - segmentByteCount)
  }

  /// The most bytes of one value that fit with `overhead` bytes of its key and its place.
  func largestValue(overhead: Int = 0) -> Int {
    min(RecordHeader.largestPayload, max(0, largestSum / 4096 * 4096 - roundUp(overhead, to: 4096)))
  }

  /// Four that take records, one for the next, one for copies.
  static let mostOpenSegments = 6

  // MARK: Changing them

  /// Changes the budgets: durable before they hold, and in force when this returns. A smaller one takes effect at once,
  /// by eviction and compaction.
  func setBudgets(byteBudget: Int?, entryBudget: Int?) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    try requireNamedNow()
    var changed = locked { current }
    if let byteBudget { changed.byteBudget = byteBudget }
    if let entryBudget { changed.entryBudget = entryBudget }
    try requireValid(changed)
    if changed == locked({ current }) { return }
    changed.generation += 1
    try write(changed)
    try requireNamed()
    locked {
      current = changed
      ledger.budget = changed.byteBudget
      admitNext()
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

  /// Brings a store inside budgets that its opening has made smaller. Needs no free space: frames go to the log, copies to the
  /// spare that is kept for them. As in upkeep, an error is met again by the next change.
  func shrinkBeforeServing() {
    try? underUpkeep { () throws(StoreError) in
      try removeOrphans()
      try shrink()
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
