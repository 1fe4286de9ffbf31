/// Copies the live records of sparse segments together, so that these segments can be unlinked.
///
/// The order of steps makes a crash at any point harmless (rule 5). Copies are checked and written, then made durable.
/// Then a frame moves the entries to the copies, and the old segments are retired like all dead segments. Before the
/// frame, nothing refers to the copies; after it, nothing refers to the originals. Readers never wait: an entry changes
/// under its shard's lock, and a segment stays mapped while it is pinned.
final class Compactor: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let commits: CommitLog
  private let recordWriter: RecordWriter
  private let syncer: Syncer
  private let checker: RecordChecker
  private let lostRecords: LostRecords
  private let checkpointer: Checkpointer
  private let entryRemover: EntryRemover
  private let retirement: SegmentRetirement

  init(
    _ context: StoreContext, gate: WriteGate, commits: CommitLog, recordWriter: RecordWriter, syncer: Syncer,
    checker: RecordChecker, lostRecords: LostRecords, checkpointer: Checkpointer, entryRemover: EntryRemover,
    retirement: SegmentRetirement
  ) {
    self.context = context
    self.gate = gate
    self.commits = commits
    self.recordWriter = recordWriter
    self.syncer = syncer
    self.checker = checker
    self.lostRecords = lostRecords
    self.checkpointer = checkpointer
    self.entryRemover = entryRemover
    self.retirement = retirement
  }

  /// The least share of dead bytes in a segment that is compacted because the store needs room.
  static let leastDeadInNeed = 1.0 / 64

  /// Compacts the sparsest segments, as many as fit into the room for copies. Returns nil if no segment fits whose dead
  /// share is at least `leastDead`. Only segments with a number below `end` are compacted.
  ///
  /// `goesOn` is called before each record. If it returns false, the records copied so far are moved and the rest stay.
  func compactOnce(
    leastDead: Double, olderThan end: UInt64 = .max, _ upkeep: borrowing UpkeepLock.Held, goesOn: () -> Bool = { true }
  ) throws(StoreError) -> CompactionStep? {
    try gate.requireWritable(closing: true)
    // Failed-sync recovery works from a list of locations, so no record may move meanwhile.
    if gate.mistrustsEarlierRecords { return nil }
    var step = CompactionStep()
    guard let (plan, records) = try nextRound(leastDead: leastDead, olderThan: end, &step, upkeep) else {
      return step.hasCorrectedAccounts ? step : nil
    }
    try moveAway(records, to: plan.target, &step, upkeep, goesOn)
    step.segmentCount = commitLock.withLock { held in
      plan.slots.count { held.state.index.segment($0).map { held.state[$0].isDead } ?? true }
    }
    commitLock.withLock { held in held.state.record.note(step) }
    try retirement.retireDeadSegments(upkeep)
    return step
  }

  /// Copies records of a segment that were found live, and points their entries to the copies. Records that find no
  /// room stay.
  func moveAway(
    _ records: [LiveRecord], from segment: Segment, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> CompactionStep {
    var step = CompactionStep()
    if records.isEmpty { return step }
    step.takesEachThatFits = true
    let target = commitLock.withLock { held in held.state[segment].stream.copies }
    try moveAway(records, to: target, &step, upkeep) { true }
    commitLock.withLock { held in held.state.record.note(step) }
    return step
  }

  private func moveAway(
    _ records: [LiveRecord], to target: StreamKind, _ step: inout CompactionStep, _ upkeep: borrowing UpkeepLock.Held,
    _ goesOn: () -> Bool
  ) throws(StoreError) {
    var copies: [Copy] = []
    defer {
      commitLock.withLock { held in for copy in copies { held.state[copy.reservation.segment].fill.endReservation() } }
    }
    try copy(records, to: target, &copies, &step, upkeep, goesOn)
    try makeDurable(copies)
    try move(copies, &step, upkeep)
  }

  /// Plans a round, and finds the live records of its segments. Each opening counts bound heads as dead bytes at first.
  /// Copies of such segments would free less than planned, so the heads are found before. Returns nil if that has
  /// corrected an account: the next step plans anew, with another spare.
  private func nextRound(
    leastDead: Double, olderThan end: UInt64, _ step: inout CompactionStep, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> (CompactionPlan, [LiveRecord])? {
    var seen: Set<UInt64> = []
    while let plan = commitLock.withLock({ held in compactionPlan(leastDead: leastDead, olderThan: end, held) }) {
      let unknown = commitLock.withLock { held in
        plan.slots.compactMap { held.state.index.segment($0) }.filter {
          !held.state[$0].live.knowsBoundHeads && !seen.contains($0.id)
        }
      }
      if unknown.isEmpty { return (plan, catalog.liveRecords(in: plan.slots)) }
      for segment in unknown {
        try gate.requireWritable(closing: true)
        seen.insert(segment.id)
        _ = LiveRecordFinder(context: context).records(of: segment)
        let isKnown = commitLock.withLock { held in held.state[segment].live.knowsBoundHeads }
        if isKnown { step.hasCorrectedAccounts = true }
      }
      if step.hasCorrectedAccounts { return nil }
    }
    return nil
  }

  private func compactionPlan(
    leastDead: Double, olderThan end: UInt64, _ held: borrowing CommitLock.Held
  ) -> CompactionPlan? {
    let loads = held.state.compactable.filter {
      $0.deadByteCount > 0 && Double($0.deadByteCount) >= leastDead * Double($0.byteCount)
        && catalog.segments.id($0.slot) < end
    }
    return CompactionPlan(loads) { stream in held.state.roomForCopies(stream) }
  }

  private struct Copy {
    let record: LiveRecord
    let reservation: Reservation
    let payloadUnits: Int
    /// Units of the record's head and of its copy's head. They differ if the payload begins on a page.
    let headUnits: (old: Int, new: Int)
  }

  /// Copies records until there is no more room, and drops records that fail their check.
  private func copy(
    _ records: [LiveRecord], to target: StreamKind, _ copies: inout [Copy], _ step: inout CompactionStep,
    _ upkeep: borrowing UpkeepLock.Held, _ goesOn: () -> Bool
  ) throws(StoreError) {
    let copier = RecordCopier()
    for record in records where goesOn() {
      let location = record.location
      // If a file cannot be opened now, this record and the rest are left for a later round.
      guard let file = catalog.segments.segment(location.slot)?.file else {
        step.lacksFile = true
        break
      }
      guard try read(location, file, copier), let header = copier.header else {
        step.droppedCount += try dropUnreadable(record, upkeep)
        continue
      }
      guard let room = try reserveCopy(copier, target, upkeep) else {
        if step.takesEachThatFits { continue }
        break
      }
      copier.makeHead(payloadOffset: room.payloadOffset, seed: catalog.segments.seed(room.location))
      try recordWriter.write(copier.head, copier.payload, to: room, awaitsSync: false)
      commitLock.withLock { held in held.state[room.segment].filled(room, isCarried: false) }
      copies.append(
        Copy(
          record: record, reservation: room, payloadUnits: Unit.count(copier.payload.count),
          headUnits: (header.headUnits, Unit.count(room.payloadOffset))))
      step.byteCount += room.endOffset - room.offset
    }
  }

  private func read(_ location: Location, _ file: any File, _ copier: RecordCopier) throws(StoreError) -> Bool {
    func isRead() -> Bool {
      copier.read(
        file, offset: location.offset, available: catalog.segments.available(at: location),
        seed: catalog.segments.seed(location), firstSequence: catalog.segments.firstSequence(location.slot),
        digest: environment.digest)
    }
    if isRead() { return true }
    return try system { () throws(SystemError) in try checker.restore(location) } && isRead()
  }

  private enum Room {
    case found(Reservation)
    case opened
    case none
    case needsCheckpoint
  }

  /// Reserves room in the segment that takes copies, or in a spare. Returns nil if there is none.
  private func reserveCopy(
    _ copier: RecordCopier, _ target: StreamKind, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Reservation? {
    while true {
      let room = try commitLock.withLock { held throws(StoreError) -> Room in
        try gate.requireWritable(closing: true)
        if let segment = held.state.writable[target], !segment.hasDamagedPages,
          let room = held.state.index.segments.reserve(
            in: segment, headByteCount: copier.headByteCount, payloadByteCount: copier.payload.count,
            pageAligned: copier.isPageAligned)
        {
          return .found(room)
        }
        let most = Segment.largestExtent(copier.headByteCount, copier.payload.count, copier.isPageAligned)
        guard let spare = held.state.spare(ofAtLeast: most) else { return .none }
        // Copies keep their record numbers. With the first number 0, all of them count in the segment.
        return try commits.open(spare, for: target, firstSequence: 0, held) ? .opened : .needsCheckpoint
      }
      switch room {
      case .found(let reservation): return reservation
      case .opened: break
      case .none: return nil
      case .needsCheckpoint: try checkpointer.writeCheckpoint(upkeep)
      }
    }
  }

  /// Drops every entry that needs a record which failed its check. Returns the number of entries dropped.
  private func dropUnreadable(
    _ record: LiveRecord, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Int {
    let before = commitLock.withLock { held in held.state.index.keyCount }
    if let key = record.key {
      let segment = catalog.segments.id(record.location.slot)
      try entryRemover.drop([LostEntry(hash: key, location: record.location, segment: segment)], upkeep)
    }
    if let content = record.content {
      try entryRemover.drop(lostRecords.sharers(of: [(content, record.location)]), upkeep)
    }
    return max(0, before - commitLock.withLock { held in held.state.index.keyCount })
  }

  /// Rule 5: a frame that moves a payload is stored only after the copy is durable. The segments still owe a sync after
  /// this one. A later flush syncs them again and finds little to write. A wait for a flush in progress would take
  /// longer, because a flush syncs all segments that owe a sync.
  private func makeDurable(_ copies: [Copy]) throws(StoreError) {
    var synced: Set<Int> = []
    for copy in copies where synced.insert(copy.reservation.location.slot).inserted {
      try syncer.sync(copy.reservation.segment)
    }
  }

  /// Points each entry to its copy, unless the entry has changed since it was copied. The copy of a removed entry is
  /// dead.
  private func move(
    _ copies: [Copy], _ step: inout CompactionStep, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) {
    var rest = copies[...]
    while !rest.isEmpty {
      let part = rest.prefix(commits.largestRemoval)
      var moves: [Change] = []
      try checkpointer.recordForSure(upkeep) { _ in
        moves = part.compactMap(move)
        return moves
      }
      step.recordCount += moves.count
      rest = rest.dropFirst(part.count)
    }
  }

  private func move(_ copy: Copy) -> Change? {
    let from = copy.record.location
    var move = Change.Move(
      from: from, to: copy.reservation.location, key: nil, content: nil, headUnits: copy.headUnits.old,
      copiedHeadUnits: copy.headUnits.new, payloadUnits: copy.payloadUnits)
    if let key = copy.record.key, catalog.keys.find(key, from) { move.key = key }
    if let content = copy.record.content, catalog.contents.count(content, from) > 0 { move.content = content }
    return move.key == nil && move.content == nil ? nil : .moved(move)
  }
}

/// The results of a round of compaction.
struct CompactionStep {
  var recordCount = 0
  var byteCount = 0
  /// Number of compacted segments without live records.
  var segmentCount = 0
  var droppedCount = 0
  /// Whether a record that finds no room is skipped. If not, it ends the step.
  var takesEachThatFits = false
  /// The file of a record could not be opened now.
  var lacksFile = false
  /// Whether the bound heads of a segment were unknown before. Another step may find a plan then.
  var hasCorrectedAccounts = false

  var hasChanged: Bool { recordCount > 0 || droppedCount > 0 }
  /// Whether this step emptied a segment, or the next step may empty a segment that this step did not find.
  var mayFreeMore: Bool { segmentCount > 0 || hasCorrectedAccounts }
  /// Whether another step would find the same.
  var isStuck: Bool { segmentCount == 0 && recordCount == 0 && !hasCorrectedAccounts }
}

/// A record whose key or payload is live.
struct LiveRecord {
  let location: Location
  /// The record's key; nil if the key has no entry, or if its entry has another record.
  var key: KeyHash?
  /// The record's payload; nil if it carries none in use.
  var content: ContentHash?
}
