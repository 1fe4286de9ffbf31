/// Counts the entries of styles that have a budget and the pinned entries, and evicts those beyond a budget.
final class GroupLimiter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let evictor: Evictor
  /// For each style, the excess that could not be evicted because the entries are pinned, and the number of pinned
  /// entries at that time.
  private let fruitless = Guarded<[UInt16: (excess: Excess, pinnedCount: Int)]>([:])

  init(_ context: StoreContext, gate: WriteGate, evictor: Evictor) {
    self.context = context
    self.gate = gate
    self.evictor = evictor
  }

  /// The entries and bytes of a style beyond its budget.
  struct Excess: Equatable {
    let tag: UInt16
    var entryCount = 0
    var byteCount = 0
  }

  /// Returns the excess of a style after `entryCount` entries with `byteCount` bytes were added; nil if there is none.
  static func excess(
    _ tag: UInt16, _ budget: StyleBudget, adding entryCount: Int = 0, byteCount: Int = 0,
    to sums: borrowing EntrySums
  ) -> Excess? {
    guard let sum = sums[.style(tag)] else { return nil }
    var excess = Excess(tag: tag)
    if let most = budget.count { excess.entryCount = max(0, sum.entryCount + entryCount - most) }
    if let most = budget.byteCount { excess.byteCount = max(0, sum.byteCount + byteCount - most) }
    return excess.entryCount > 0 || excess.byteCount > 0 ? excess : nil
  }

  /// Evicts the least recently used entries of a style, at most one frame of removals. Returns their number.
  @discardableResult
  func evict(_ excess: Excess) throws(StoreError) -> Int {
    try evictor.evict(style: excess.tag, count: excess.entryCount, byteCount: excess.byteCount)
  }

  /// Counts the styles whose budget is new, and groups whose sums were lost. Reads the heads of their entries, under
  /// the commit lock for the entries of one shard at a time.
  func countGroups() {
    for group in commitLock.withLock({ held in held.state.index.sums.uncounted }) {
      for shard in 0..<KeyTable.shardCount {
        commitLock.withLock { held in count(group, shard: shard, held) }
      }
    }
  }

  private func count(_ group: EntrySums.Group, shard: Int, _ held: borrowing CommitLock.Held) {
    if held.state.index.sums.isCounted(group, shard: shard) { return }
    var entryCount = 0
    var byteCount = 0
    for entry in catalog.keys.copy(shard: shard) where group.contains(entry) {
      entryCount += 1
      // The same size as a removal will find, also if only the log has the record.
      byteCount += held.state.index.displaced(at: entry.location).size.byteCount(in: group)
    }
    held.state.index.sums.count(group, shard: shard, entryCount: entryCount, byteCount: byteCount)
  }

  /// Evicts entries until every style is within its budget.
  func enforce() throws(StoreError) {
    // Entries that failed-sync recovery rewrites evict no others.
    if gate.mistrustsEarlierRecords { return }
    countGroups()
    for entry in commitLock.withLock({ held in held.state.current.styleBudgets.list }) {
      while let (excess, pinnedCount) = excess(entry), !isFruitless(excess, pinnedCount) {
        if try evict(excess) == 0 { fruitless.withLock { $0[excess.tag] = (excess, pinnedCount) } }
      }
    }
  }

  private func excess(_ entry: StyleBudgets.Entry) -> (Excess, pinnedCount: Int)? {
    commitLock.withLock { held in
      GroupLimiter.excess(entry.style.tag, entry.budget, to: held.state.index.sums).map {
        ($0, held.state.index.sums[.pinned]?.entryCount ?? 0)
      }
    }
  }

  private func isFruitless(_ excess: Excess, _ pinnedCount: Int) -> Bool {
    fruitless.withLock { $0[excess.tag].map { $0.excess == excess && $0.pinnedCount == pinnedCount } ?? false }
  }
}
