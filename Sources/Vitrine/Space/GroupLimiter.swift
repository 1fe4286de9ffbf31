/// Counts the entries of styles that have a budget and the pinned entries, and evicts those beyond a budget.
final class GroupLimiter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let evictor: Evictor

  init(_ context: StoreContext, gate: WriteGate, evictor: Evictor) {
    self.context = context
    self.gate = gate
    self.evictor = evictor
  }

  /// What the entries of a style take beyond its budget.
  struct Excess {
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
    excess.entryCount = max(0, sum.entryCount + entryCount - (budget.count ?? .max))
    excess.byteCount = max(0, sum.byteCount + byteCount - (budget.byteCount ?? .max))
    return excess.entryCount > 0 || excess.byteCount > 0 ? excess : nil
  }

  /// Evicts the least recently used entries of a style, at most one frame of removals. Returns their number.
  @discardableResult
  func evict(_ excess: Excess) throws(StoreError) -> Int {
    try evictor.evict(style: excess.tag, count: excess.entryCount, byteCount: excess.byteCount)
  }

  /// Counts the styles whose budget is new, and groups whose sums were lost. Reads the heads of their entries, under the
  /// commit lock for the entries of one shard at a time.
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
      byteCount += held.state.index.lockedRecord(at: entry.location, checks: false)?.header.logicalByteCount ?? 0
    }
    held.state.index.sums.count(group, shard: shard, entryCount: entryCount, byteCount: byteCount)
  }

  /// Evicts entries until every style is within its budget.
  func enforce() throws(StoreError) {
    // An entry that is only written anew evicts no other one.
    if gate.mistrustsEarlierRecords { return }
    countGroups()
    for entry in commitLock.withLock({ held in held.state.current.styleBudgets.list }) {
      var excess = excess(entry)
      while let present = excess {
        if try evict(present) == 0 { break }
        excess = self.excess(entry)
      }
    }
  }

  private func excess(_ entry: StyleBudgets.Entry) -> Excess? {
    commitLock.withLock { held in
      GroupLimiter.excess(entry.style.tag, entry.budget, to: held.state.index.sums)
    }
  }
}
