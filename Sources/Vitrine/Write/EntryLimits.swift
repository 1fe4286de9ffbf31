/// Compares the entries that a commit adds with the budget of entries, with the limit of styles of a URL, with the
/// budgets of styles, and with the room for pinned entries.
final class EntryLimits: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let evictor: Evictor
  private let groupLimiter: GroupLimiter
  private let keyFinder: KeyFinder

  init(
    _ context: StoreContext, gate: WriteGate, evictor: Evictor, groupLimiter: GroupLimiter, keyFinder: KeyFinder
  ) {
    self.context = context
    self.gate = gate
    self.evictor = evictor
    self.groupLimiter = groupLimiter
    self.keyFinder = keyFinder
  }

  /// The entries that must be evicted before a commit.
  enum Excess {
    /// The number of new entries that need room.
    case entries(Int)
    /// The URL, and the number of its styles to evict.
    case styles(KeyHash, Int)
    /// The style, and its entries and bytes beyond its budget.
    case style(GroupLimiter.Excess)
  }

  /// Returns the first limit that the operations exceed; nil if there is none. `puts` is the number of puts among the
  /// operations. `evictionsInVain` is the number of evictions for the budget of a style that found no entry. Throws
  /// `noSpace` or `tooLarge` if the operations exceed a budget by themselves.
  func excess(
    of operations: [PendingOperation], puts: Int, limitsStylesOfURL: Bool, evictionsInVain: Int,
    _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Excess? {
    let new = try newEntries(operations, puts, held)
    try requireRoomForPins(operations, held)
    // Comes before the others: the entries of the style that must go make room among all entries.
    if !held.state.index.sums.isEmpty, let excess = try excessOfStyle(operations, held) {
      if evictionsInVain >= EntryLimits.mostEvictionsInVain { throw .noSpace }
      return .style(excess)
    }
    if held.state.entryBudget > 0, held.state.index.keyCount + new > held.state.entryBudget { return .entries(new) }
    if limitsStylesOfURL, let excess = excessStyles(operations, held) {
      return .styles(excess.url, excess.count)
    }
    return nil
  }

  /// Evictions in vain after which a commit beyond the budget of a style gets `noSpace`: the entries of the style are
  /// pinned. One is not enough, because another thread may have evicted the entries.
  private static let mostEvictionsInVain = 2

  /// Evicts entries for an excess that a commit has found. Returns false if there was nothing to evict.
  func evict(_ excess: Excess) throws(StoreError) -> Bool {
    switch excess {
    case .entries(let new): try evictor.evictEntries(toAdmit: new)
    case .styles(let url, let count): return try evictor.evictStyles(of: url, count) > 0
    case .style(let excess): return try groupLimiter.evict(excess) > 0
    }
    return true
  }

  /// Returns how many puts are of keys that are not in the index; 0 if the entry budget suffices in any case. Throws
  /// `noSpace` if they exceed the budget by themselves.
  private func newEntries(
    _ operations: [PendingOperation], _ puts: Int, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Int {
    let entryBudget = held.state.entryBudget
    guard entryBudget > 0, held.state.index.keyCount + puts > entryBudget else { return 0 }
    var new = 0
    for operation in operations {
      if operation.record != nil, keyFinder.find(operation, held) == nil { new += 1 }
    }
    if new > entryBudget { throw .noSpace }
    return new
  }

  /// Returns a URL's hash, and how many of its styles must be evicted before the operations are committed; nil if none
  /// must.
  private func excessStyles(
    _ operations: [PendingOperation], _ held: borrowing CommitLock.Held
  ) -> (url: KeyHash, count: Int)? {
    // Entries that failed-sync recovery rewrites evict no others.
    guard let most = context.opening.maximumStyles, !gate.mistrustsEarlierRecords else { return nil }
    var new: [KeyHash: Int] = [:]
    for operation in operations where operation.location != nil {
      let url = operation.key.hash.ofURL
      if Style.isOriginal(operation.key.style, tag: operation.key.hash.styleTag)
        || catalog.keys.styleCount(url, without: Style.original.tag) + operations.count <= most
        || keyFinder.find(operation.key.hash, operation.key.url, operation.key.style, held).location != nil
      {
        continue
      }
      new[url, default: 0] += 1
    }
    for (url, new) in new {
      let count = catalog.keys.styleCount(url, without: Style.original.tag)
      // A batch with more styles than the limit keeps all of its own.
      if count > 0, count + new > most { return (url, min(count, count + new - most)) }
    }
    return nil
  }

  /// Returns the excess of a style with a budget; nil if there is none. Entries that the operations replace do not
  /// count.
  private func excessOfStyle(
    _ operations: [PendingOperation], _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> GroupLimiter.Excess? {
    // Entries that failed-sync recovery rewrites evict no others.
    if gate.mistrustsEarlierRecords { return nil }
    for entry in held.state.current.styleBudgets.list {
      let (tag, budget) = (entry.style.tag, entry.budget)
      guard held.state.index.sums[.style(tag)] != nil else { continue }
      var puts = (count: 0, byteCount: 0)
      var replaced = (count: 0, byteCount: 0)
      for operation in operations where operation.record != nil && operation.key.hash.styleTag == tag {
        puts.count += 1
        puts.byteCount += operation.logicalByteCount
        for location in replacedEntries(operation, held).all {
          replaced.count += 1
          replaced.byteCount += held.state.index.displaced(at: location).logicalByteCount
        }
      }
      if puts.count <= replaced.count, puts.byteCount <= replaced.byteCount { continue }
      if let limit = budget.byteCount, puts.byteCount > limit {
        throw operations.count == 1 ? .tooLarge(byteCount: puts.byteCount, limit: limit) : .noSpace
      }
      if puts.count > budget.count ?? .max { throw .noSpace }
      let excess = GroupLimiter.excess(
        tag, budget, adding: puts.count - replaced.count, byteCount: puts.byteCount - replaced.byteCount,
        to: held.state.index.sums)
      if let excess { return excess }
    }
    return nil
  }

  /// Throws `noSpace` if the pinned entries would take more than their share of a budget.
  private func requireRoomForPins(
    _ operations: [PendingOperation], _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    guard held.state.index.sums.hasPins || operations.contains(where: { $0.pin.isGiven && $0.pin.isPinned }),
      !gate.mistrustsEarlierRecords, var sum = held.state.index.sums[.pinned]
    else { return }
    let before = sum
    for operation in operations {
      guard let record = operation.record else { continue }
      let replaced = replacedEntries(operation, held)
      let pinned = replaced.all.filter { held.state.index.isPinned(operation.key.hash, $0) }
      for location in pinned {
        sum.entryCount -= 1
        sum.byteCount -= held.state.index.displaced(at: location).size.byteCount(in: .pinned)
      }
      let wasPinned = replaced.ofKey.map { pinned.contains($0) } ?? false
      guard operation.pin.isPinned(replacing: wasPinned) else { continue }
      let size = EntrySums.Size(logicalByteCount: operation.logicalByteCount, headUnits: record.headUnits)
      sum.entryCount += 1
      sum.byteCount += size.byteCount(in: .pinned)
    }
    let most = PinUse.most(of: held.state.current)
    let isMore = sum.entryCount > before.entryCount || sum.byteCount > before.byteCount
    if isMore, sum.entryCount > most.entryCount || sum.byteCount > most.byteCount { throw .noSpace }
  }

  /// The entries that a commit of the operation removes: that of its key, and those of its hash that cannot be read.
  private func replacedEntries(
    _ operation: PendingOperation, _ held: borrowing CommitLock.Held
  ) -> (ofKey: Location?, all: [Location]) {
    let (found, damaged) = keyFinder.find(operation.key.hash, operation.key.url, operation.key.style, held)
    return (found, damaged + (found.map { [$0] } ?? []))
  }
}
