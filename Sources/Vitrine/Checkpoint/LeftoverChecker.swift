/// Checks the records that a crash left without a voucher.
final class LeftoverChecker: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncer: Syncer
  private let checker: RecordChecker
  private let lostRecords: LostRecords
  private let entryRemover: EntryRemover
  private let leftoverLock = LeftoverLock(())
  /// Checks leftovers, until there are none.
  let leftoverTask = Guarded<(any BackgroundTask)?>(nil)

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

  /// A pass over the index collects about so many records.
  private static let collectedAtOnce = 1 << 18

  /// Checks every unvouched record of earlier openings, drops those that fail, and raises the marks of segments whose
  /// records were all checked and synced. Throws when the store is being closed, and when a file cannot be opened now.
  /// Concurrent calls take turns. Takes the upkeep lock and the commit lock for moments, so it must be called under none.
  func checkLeftovers() throws(StoreError) {
    try leftoverLock.withLock { turn throws(StoreError) in
      // First, so that a put that finds the log full seldom waits for it.
      try lostRecords.findHeadless()
      try checkAllLeftovers(turn)
    }
  }

  /// The same while the store is being closed, unless another thread checks them now. Ignores errors.
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
    commitLock.withLock { held in if held.state.leftovers.unchecked.isEmpty { catalog.forgetReplayed() } }
  }

  /// Starts the check on a thread of its own, beside upkeep, which goes on meanwhile.
  func startCheckingLeftovers() throws(StoreError) {
    if commitLock.withLock({ held in held.state.leftovers.unchecked.isEmpty }) { return }
    let task = try system { () throws(SystemError) in
      try environment.background.start(
        name: "vitrine leftovers", intervalMilliseconds: Maintainer.upkeepMilliseconds
      ) { [weak self] in self?.goOnCheckingLeftovers() }
    }
    leftoverTask.withLock { $0 = task }
    task.wake()
  }

  private func goOnCheckingLeftovers() {
    // Short of descriptors, say: then once more, later.
    try? checkLeftovers()
    if commitLock.withLock({ held in held.state.leftovers.unchecked.isEmpty }) || gate.isClosed {
      leftoverTask.withLock { $0 }?.end()
    }
  }

  /// Bytes of segments in which something is unchecked.
  var uncheckedByteCount: Int {
    commitLock.withLock { held in
      held.state.leftovers.unchecked.reduce(0) { $0 + max(0, $1.end - catalog.segments.vouchedUpTo($1.slot)) }
    }
  }

  /// Segments whose records one pass over the index collects.
  private func nextLeftovers(without checked: Set<UInt64>) -> [Leftover] {
    commitLock.withLock { held in
      var group: [Leftover] = []
      var count = 0
      for leftover in held.state.leftovers.unchecked
      where !checked.contains(leftover.id) && count < LeftoverChecker.collectedAtOnce {
        group.append(leftover)
        count += catalog.segment(leftover.slot)?.liveCount ?? 0
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
    // Payloads whose own keys have gone, but which others use.
    let sharers = try lostRecords.sharers(of: payloads.filter { catalog.contents.has($0.0, $0.1) })
    try upkeepLock.withLock { upkeep throws(StoreError) in try entryRemover.drop(sharers, upkeep) }
    try vouch(for: leftover)
  }

  /// Every record of it that is needed was checked: makes them durable, and raises the mark.
  private func vouch(for leftover: Leftover) throws(StoreError) {
    func current() -> Segment? {
      catalog.segments.segment(leftover.slot).flatMap { $0.id == leftover.id && $0.state != .retired ? $0 : nil }
    }
    guard let segment = commitLock.withLock({ held in current() }) else { return }
    // Writes of the previous process, and records that were restored from the log just now.
    try syncer.sync(segment)
    upkeepLock.withLock { upkeep in
      commitLock.withLock { held in
        guard current() === segment else { return }
        catalog.segments.raiseMark(of: segment, to: leftover.end)
        held.state.leftovers.remove(slot: leftover.slot)
      }
    }
  }
}
