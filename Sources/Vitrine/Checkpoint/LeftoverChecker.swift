/// Checks the leftovers of a crash: records of earlier openings for which no checkpoint vouches.
final class LeftoverChecker: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncer: Syncer
  private let checker: RecordChecker
  private let lostRecords: LostRecords
  private let entryRemover: EntryRemover
  private let leftoverLock = LeftoverLock(())
  /// The background task that checks leftovers until none are left.
  private let task = Guarded<(any BackgroundTask)?>(nil)

  init(
    _ context: StoreContext, gate: WriteGate, syncer: Syncer, checker: RecordChecker, lostRecords: LostRecords,
    entryRemover: EntryRemover
  ) {
    self.context = context
    self.gate = gate
    self.syncer = syncer
    self.checker = checker
    self.lostRecords = lostRecords
    self.entryRemover = entryRemover
  }

  /// Approximate number of records that one pass over the index collects.
  private static let collectedAtOnce = 1 << 18

  /// Checks every unvouched record of earlier openings, drops those that fail, and raises the marks of segments whose
  /// records were all checked and synced. Throws if the store is being closed or if a file cannot be opened now.
  /// Concurrent calls take turns. The caller must hold neither the upkeep lock nor the commit lock; each is taken for
  /// short times.
  func checkLeftovers() throws(StoreError) {
    try leftoverLock.withLock { turn throws(StoreError) in
      // This search comes first, so a put that finds the log full seldom waits for it.
      try lostRecords.findHeadless()
      try checkAllLeftovers(turn)
    }
  }

  /// Checks leftovers while the store is being closed, unless another thread is checking them. Ignores errors.
  func tryToCheckForClosing() {
    leftoverLock.tryWithLock { turn in try? checkAllLeftovers(closing: true, turn) }
  }

  private func checkAllLeftovers(
    closing: Bool = false, _ turn: borrowing LeftoverLock.Held
  ) throws(StoreError) {
    var checked: Set<UInt64> = []
    while true {
      let group = nextLeftovers(without: checked)
      if group.isEmpty { break }
      let records = lostRecords.leftoverRecords(in: group)
      for leftover in group {
        try check(leftover, records[leftover.slot] ?? [], closing: closing)
        checked.insert(leftover.id)
      }
    }
    commitLock.withLock { held in if held.state.leftovers.unchecked.isEmpty { held.state.index.forgetReplayed() } }
  }

  /// Starts the check as a task of its own, in parallel with upkeep.
  func startCheckingLeftovers() throws(StoreError) {
    if commitLock.withLock({ held in held.state.leftovers.unchecked.isEmpty }) { return }
    let started = try system { () throws(SystemError) in
      try environment.background.start(
        name: "vitrine leftovers", first: .after(milliseconds: Maintainer.upkeepMilliseconds)
      ) { [weak self] in self?.goOnCheckingLeftovers() ?? .whenWoken }
    }
    task.withLock { $0 = started }
    started.wake()
  }

  /// Ends the task without waiting for a running step.
  func endTask() { task.withLock { $0 }?.end() }

  /// Waits for a running step and ends the task.
  func stopTask() { task.withLock { $0 }?.stop() }

  private func goOnCheckingLeftovers() -> NextStep {
    // After an error, such as a lack of descriptors, a later round tries again.
    try? checkLeftovers()
    if commitLock.withLock({ held in held.state.leftovers.unchecked.isEmpty }) || gate.isClosed {
      endTask()
      return .whenWoken
    }
    return .after(milliseconds: Maintainer.upkeepMilliseconds)
  }

  /// Number of bytes that may hold unchecked records.
  var uncheckedByteCount: Int {
    commitLock.withLock { held in
      held.state.leftovers.unchecked.reduce(0) { $0 + max(0, $1.end - catalog.segments.vouchedUpTo($1.slot)) }
    }
  }

  /// The segments whose records the next pass over the index collects.
  private func nextLeftovers(without checked: Set<UInt64>) -> [Leftover] {
    commitLock.withLock { held in
      var group: [Leftover] = []
      var count = 0
      for leftover in held.state.leftovers.unchecked
      where !checked.contains(leftover.id) && count < LeftoverChecker.collectedAtOnce {
        group.append(leftover)
        count += held.state.index.segment(leftover.slot).map { held.state[$0].live.count } ?? 0
      }
      return group
    }
  }

  private func check(
    _ leftover: Leftover, _ records: [LiveRecord], closing: Bool
  ) throws(StoreError) {
    var lost: [LostEntry] = []
    var payloads: [(ContentHash, Location)] = []
    for record in records {
      try gate.requireWritable(closing: closing)
      guard catalog.segments.id(record.location.slot) == leftover.id else { return }
      guard try checker.isDamaged(record.location) else { continue }
      if let key = record.key {
        lost.append(LostEntry(hash: key, location: record.location, segment: leftover.id))
      }
      if let content = record.content { payloads.append((content, record.location)) }
    }
    guard catalog.segments.id(leftover.slot) == leftover.id else { return }
    try upkeepLock.withLock { upkeep throws(StoreError) in try entryRemover.drop(lost, upkeep) }
    // Entries of other keys that use one of these payloads are dropped too.
    let sharers = try lostRecords.sharers(of: payloads.filter { catalog.contents.has($0.0, $0.1) })
    try upkeepLock.withLock { upkeep throws(StoreError) in try entryRemover.drop(sharers, upkeep) }
    try vouch(for: leftover)
  }

  /// Makes a leftover durable and raises the segment's mark, after all its live records were checked.
  private func vouch(for leftover: Leftover) throws(StoreError) {
    guard let segment = commitLock.withLock({ held in held.state.segment(leftover.slot, id: leftover.id) }) else {
      return
    }
    // The sync covers writes of the previous process, and records just restored from the log.
    try syncer.sync(segment)
    upkeepLock.withLock { upkeep in
      commitLock.withLock { held in
        guard held.state.segment(leftover.slot, id: leftover.id) === segment else { return }
        catalog.segments.raiseMark(of: segment, to: leftover.end)
        held.state.leftovers.remove(slot: leftover.slot)
      }
    }
  }
}
