/// Changes the budgets and the stored identity.
final class Budgets: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let retirement: SegmentRetirement
  private let reclaimer: Reclaimer
  private let roomRelease: RoomRelease
  private let trimmer: Trimmer
  private let reader: Reader
  private let diskWatch: DiskWatch
  private let useHints: UseHints
  private let groupLimiter: GroupLimiter

  init(_ context: StoreContext, _ basics: BasicParts, _ space: SpaceParts, _ reads: ReadParts, trimmer: Trimmer) {
    self.context = context
    gate = basics.gate
    signal = basics.signal
    retirement = space.retirement
    reclaimer = space.reclaimer
    roomRelease = space.roomRelease
    self.trimmer = trimmer
    reader = reads.reader
    diskWatch = space.diskWatch
    useHints = reads.useHints
    groupLimiter = space.groupLimiter
  }

  /// Writes both copies of `STORE` and makes them durable.
  func write(_ identity: StoreIdentity) throws(StoreError) {
    do throws(SystemError) {
      let file: any File
      do throws(SystemError) {
        file = try folders.root.openFile(CacheFormat.storeFile, .readWrite)
      } catch {
        guard error.code == SystemError.missing else { throw error }
        return try Creation.makeStoreFile(identity, in: folders.root)
      }
      try Creation.write(identity, to: file)
      // The process that made the file may have died before its name was durable.
      try folders.root.sync()
    } catch {
      throw gate.writeError(error)
    }
  }

  /// Changes the budgets. The new budgets are durable before they apply, and the store is within them when this
  /// returns: a smaller budget evicts and compacts.
  func setBudgets(byteBudget: Int?, entryBudget: Int?, minimumFreeBytes: Int?) throws(StoreError) {
    try change { identity in
      if let byteBudget { identity.byteBudget = byteBudget }
      if let entryBudget { identity.entryBudget = entryBudget }
      if let minimumFreeBytes { identity.minimumFree = minimumFreeBytes }
    }
  }

  /// Sets or removes the budget of a style. It is durable before it applies, and the style is within it when this
  /// returns, unless pinned entries exceed it. Entries of other styles stay.
  func setStyleBudget(_ budget: StyleBudget?, for style: Style) throws(StoreError) {
    try change { identity throws(StoreError) in
      var budgets = identity.styleBudgets.byStyle
      budgets[style] = budget
      if let problem = StyleBudgets.problem(of: budgets) { throw .invalidArgument(problem) }
      identity.styleBudgets = StyleBudgets(budgets)
    }
    try groupLimiter.enforce()
  }

  private func change(_ body: (inout StoreIdentity) throws(StoreError) -> Void) throws(StoreError) {
    // Checked before the lock is taken, because in a forked child the lock may never be released.
    try gate.requireWritable()
    useHints.takeIn(makesFile: false)
    // A sleeping store may have to watch the disk from now on.
    defer { signal.wake() }
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      try gate.requireNamedNow()
      var changed = commitLock.withLock { held in held.state.current }
      try body(&changed)
      // The log of a busy store may alone exceed the new budget.
      if commitLock.withLock({ held in changed.byteBudget < held.state.ledger.leastBudget }) {
        try roomRelease.release(upkeep)
      }
      try requireValid(changed)
      if changed == commitLock.withLock({ held in held.state.current }) { return }
      try shrinkAhead(to: changed.byteBudget, upkeep)
      changed.generation += 1
      try write(changed)
      try gate.requireNamed()
      commitLock.withLock { held in
        held.state.current = changed
        held.state.trackStyles()
        held.state.ledger.set(budget: changed.byteBudget, logReserve: changed.logReserve)
        held.state.admitNext()
      }
      reader.limitBlobs(budget: changed.byteBudget)
      try retirement.sealUnusedStreams(upkeep)
      try reclaimer.shrink(upkeep)
      diskWatch.noteLeast(nil)
      try trimmer.giveWay(upkeep)
    }
  }

  /// Brings the store within its budgets, and trims it if the disk has fewer free bytes than the store's minimum.
  func enforce(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    // Blobs may keep the store above its budget for now. This error is ignored, so that the free bytes of the disk are
    // still checked.
    try? reclaimer.shrink(upkeep)
    try trimmer.giveWay(upkeep)
  }

  /// Trims the folder before a smaller budget holds. Segments of a larger budget may be too long to be copied within
  /// the smaller one. Without room for copies, the budget is kept by evicting more.
  private func shrinkAhead(to byteBudget: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    do throws(StoreError) {
      _ = try trimmer.shrink(toBytes: byteBudget, upkeep)
    } catch {
      guard case .noSpace = error else { throw error }
    }
  }

  private func requireValid(_ identity: StoreIdentity) throws(StoreError) {
    guard identity.entryBudget >= 0 else {
      throw .invalidArgument("an entry budget must not be negative: \(identity.entryBudget)")
    }
    guard identity.minimumFree >= 0 else {
      throw .invalidArgument("the free bytes of the disk must not be negative: \(identity.minimumFree)")
    }
    let problem = commitLock.withLock { held in
      identity.isTighter(than: held.state.current) ? held.state.index.sums.problem(of: identity) : nil
    }
    if let problem {
      throw .invalidArgument(problem)
    }
    let least = commitLock.withLock { held in held.state.ledger.leastBudget }
    guard identity.byteBudget >= least else {
      throw .invalidArgument("this store's byte budget is at least \(least) bytes, not \(identity.byteBudget)")
    }
  }

  /// Brings the store within the budgets of its opening, which are smaller than those before; `earlier` is the earlier
  /// byte budget. Needs no free space: frames go to the log, copies to the spare kept for them. As in upkeep, errors
  /// are ignored here, and the next change meets them again.
  func shrinkBeforeServing(from earlier: Int) {
    try? upkeepLock.withLock { upkeep throws(StoreError) in
      try retirement.removeOrphans(upkeep)
      // Copies may take the room that the earlier budget left. No other thread uses the store yet.
      let (budget, reserve) = commitLock.withLock { held in (held.state.ledger.budget, held.state.current.logReserve) }
      if earlier > budget {
        commitLock.withLock { held in held.state.ledger.set(budget: earlier, logReserve: reserve) }
        defer { commitLock.withLock { held in held.state.ledger.set(budget: budget, logReserve: reserve) } }
        try shrinkAhead(to: budget, upkeep)
      }
      try reclaimer.shrink(upkeep)
    }
  }

  /// Counts the styles whose budget is new, and evicts entries beyond it. As in upkeep, errors are ignored here.
  func enforceStyles() { try? groupLimiter.enforce() }

  /// Retires spares that are larger than an ordinary segment of a full store. A crash between the frames that make and
  /// open the segment of one large record leaves such a spare. As an ordinary segment it would take room that batches
  /// and other large records need. As in upkeep, errors are ignored here.
  func retireLargeSpares() {
    try? upkeepLock.withLock { upkeep throws(StoreError) in try retirement.retireSpares(upkeep) }
  }
}
