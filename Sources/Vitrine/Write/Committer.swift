/// Commits operations: one frame, then the index, both under the commit lock. That lock makes WAL order the order of
/// changes (rule 1).
final class Committer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let commits: CommitLog
  private let checker: RecordChecker
  private let checkpointer: Checkpointer
  private let readAhead: ReadAhead
  private let checkpointRoom: CheckpointRoom
  private let keyFinder: KeyFinder
  private let limits: EntryLimits
  private let originals: OriginalSources

  init(
    _ context: StoreContext, gate: WriteGate, commits: CommitLog, checker: RecordChecker, checkpointer: Checkpointer,
    readAhead: ReadAhead, checkpointRoom: CheckpointRoom, keyFinder: KeyFinder, limits: EntryLimits,
    originals: OriginalSources
  ) {
    self.context = context
    self.gate = gate
    self.commits = commits
    self.checker = checker
    self.checkpointer = checkpointer
    self.readAhead = readAhead
    self.checkpointRoom = checkpointRoom
    self.keyFinder = keyFinder
    self.limits = limits
    self.originals = originals
  }

  /// Commits the operations together: one frame, then the index. Returns nil if a put must be placed again: the payload
  /// that it shares is gone, the payload that it carries is stored by now, or the entry or the original that it depends
  /// on has changed.
  ///
  /// The operations have different keys, and none depends on another. `awaitsSync` is true if the caller makes the
  /// frame durable next.
  func commit(
    _ operations: [PendingOperation], moreKeys: Int, awaitsSync: Bool = false
  ) throws(StoreError) -> Committed? {
    var bound = 256
    for index in operations.indices { bound += operations[index].largestEncoding }
    var crowds: Crowds = [:]
    var looks = 0
    var evictionsInVain = 0
    do throws(StoreError) {
      while true {
        switch try commitOnce(
          operations, bound, readAhead.readAhead(operations, crowds, looks: looks), crowds, looks: looks,
          evictionsInVain: evictionsInVain, awaitsSync: awaitsSync)
        {
        case .done(let committed):
          return committed
        case .placeAgain:
          abandon(operations)
          return nil
        case .needsCheckpoint:
          try checkpointer.freeLogFiles()
        case .needsRoomForIndex:
          try checkpointRoom.growCheckpoints(moreKeys: moreKeys)
        case .needsEviction(let excess):
          if try limits.evict(excess) { continue }
          if case .style = excess { evictionsInVain += 1 } else { looks += 1 }
        case .needsLook:
          crowds = try originals.lookAtCrowds(operations)
          looks += 1
        case .exceedsLog(let changeCount):
          // No frame has the changes, so the length of the log does not limit the words that the area must take.
          try checkpointRoom.growCheckpoints(
            moreKeys: operations.count, moreWords: Committer.mostWords * changeCount)
          if let committed = try commitByCheckpoint(operations, crowds) { return committed }
        }
      }
    } catch {
      abandon(operations)
      throw error
    }
  }

  /// Notes the reservations of the operations as filled, unless ``Putter`` has done so. Each commit does this first
  /// under the lock: no mark passes an unfilled reservation, and a checkpoint that the commit needs frees a log file
  /// only if marks cover the records that the file carries (rule 6).
  private func noteFilled(_ operations: [PendingOperation], _ held: borrowing CommitLock.Held) {
    for index in operations.indices {
      guard let reservation = operations[index].record?.reservation else { continue }
      held.state[reservation.segment].filled(reservation, isCarried: operations[index].isCarried)
    }
  }

  /// Settles the reservations of operations that are committed or abandoned, and notes when the entries expire. The
  /// records are noted as filled by now.
  private func settle(_ operations: [PendingOperation], _ held: borrowing CommitLock.Held) {
    for index in operations.indices {
      if let reservation = operations[index].record?.reservation {
        held.state[reservation.segment].fill.endReservation()
      }
      // The note follows the change of the index. A pass over the index that begins in between finds the entry, and a
      // later pass finds the note.
      if let due = operations[index].expiry.due { expirations.note(operations[index].key.hash, due: due) }
    }
  }

  /// Abandons operations that are not committed.
  func abandon(_ operations: [PendingOperation]) {
    commitLock.withLock { held in
      noteFilled(operations, held)
      settle(operations, held)
    }
    // A segment of its own may be dead now.
    commits.noteAbandoned()
  }

  /// The most words that the facts of a change take.
  private static let mostWords = 8

  private enum CommitOutcome {
    case done(Committed)
    case placeAgain
    case needsCheckpoint
    case needsRoomForIndex
    case needsEviction(EntryLimits.Excess)
    /// The entries of a URL whose original is put must be looked at.
    case needsLook
    /// No log file takes a frame with so many changes.
    case exceedsLog(Int)
  }

  private func commitOnce(
    _ operations: [PendingOperation], _ bound: Int, _ heads: HeadsAhead?, _ crowds: Crowds, looks: Int,
    evictionsInVain: Int, awaitsSync: Bool
  ) throws(StoreError) -> CommitOutcome {
    try commits.locked(with: heads) { held throws(StoreError) in
      noteFilled(operations, held)
      // A commit of puts alone needs no check here: the reservations were made while the store could be written, and a
      // close waits until their room is used. After a failed sync, the log refuses the frame.
      if operations.contains(where: { $0.record == nil }) { try gate.requireWritable() }
      guard let wal else { throw .readOnly }
      if let outcome = try obstacle(operations, looks, evictionsInVain, held) { return outcome }
      if originals.needsLook(operations, crowds, looks: looks, held) { return .needsLook }
      let (changes, removedCount) = changes(of: operations, crowds, held)
      // Each operation has its share in `bound` already. Every further change is a removal, which takes 56 bytes.
      let bound = bound + max(0, changes.count - operations.count) * 64
      if bound > wal.capacity {
        held.state.log.demand.refuse(bound)
        return .exceedsLog(changes.count)
      }
      // A commit without a change is durable once all earlier frames are.
      var sequence = held.state.log.nextSequence - 1
      if !changes.isEmpty {
        guard try commits.rotateIfFull(bound, held) else { return .needsCheckpoint }
        try commits.requireAccepted(changes, held)
        Frame.begin(held.state.frame)
        encode(changes, of: operations, held)
        sequence = try commits.append(changes.count, awaitsSync: awaitsSync, held)
        noteInline(operations, held)
        try commits.apply(changes, sequence: sequence, held)
        context.events.send(changes, because: reasonOfRemovals(by: operations), held)
        catalog.misses.note(changes, of: operations)
      }
      held.state.abortBodies(of: operations)
      settle(operations, held)
      return .done(
        Committed(
          sequence: sequence, removedCount: removedCount, emptiesSegment: held.state.index.takeHasEmptiedSegments()))
    }
  }

  /// Commits a batch larger than the log by a checkpoint (rule 8). No frame may come between the checkpoint and the
  /// changes, so all writers wait until it is durable. Returns nil if something must be done first.
  func commitByCheckpoint(
    _ operations: [PendingOperation], _ crowds: Crowds = [:]
  ) throws(StoreError) -> Committed? {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try checkpointer.prepareCheckpoint()
      let committed = try commitByCheckpoint(operations, crowds, upkeep)
      // The batch is durable, also if the log does not grow.
      if committed != nil { try? checkpointer.growLog(upkeep) }
      return committed
    }
  }

  private func commitByCheckpoint(
    _ operations: [PendingOperation], _ crowds: Crowds, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) -> Committed? {
    try commits.locked(with: readAhead.readAhead(operations)) { held throws(StoreError) in
      try gate.requireWritable()
      guard wal != nil else { throw .readOnly }
      if try obstacle(operations, OriginalSources.mostCrowdLooks, 0, held) != nil { return nil }
      let (changes, removedCount) = changes(of: operations, crowds, held)
      // A put of another thread may have taken the room that was made.
      let needed = held.state.indexRoom(
        moreKeys: operations.count, moreWords: Committer.mostWords * changes.count)
      if !held.state.checkpoint.room.has(needed) { return nil }
      try commits.requireAccepted(changes, held)
      try commits.apply(changes, sequence: held.state.log.nextSequence, held)
      context.events.send(changes, because: reasonOfRemovals(by: operations), held)
      catalog.misses.note(changes, of: operations)
      try checkpointer.writeCheckpoint(consumingSequence: true, upkeep, held)
      held.state.abortBodies(of: operations)
      settle(operations, held)
      return Committed(
        sequence: 0, removedCount: removedCount, emptiesSegment: held.state.index.takeHasEmptiedSegments())
    }
  }

  /// The reason of the removals in a commit: a put of an original removes the entries that were made from another one.
  private func reasonOfRemovals(by operations: [PendingOperation]) -> CacheEvent.RemovalReason {
    operations.contains { $0.record == nil } ? .removed : .outdated
  }

  /// Returns the reason why the operations cannot be committed now; nil if there is none.
  private func obstacle(
    _ operations: [PendingOperation], _ looks: Int, _ evictionsInVain: Int, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> CommitOutcome? {
    var puts = 0
    for index in operations.indices {
      if operations[index].record != nil { puts += 1 }
      if let body = operations[index].body, held.state.unfinished.isAborted(body) { throw .aborted }
    }
    guard puts > 0 else { return nil }
    if !isStillRight(operations, held) { return .placeAgain }
    if let excess = try limits.excess(
      of: operations, puts: puts, limitsStylesOfURL: looks < OriginalSources.mostCrowdLooks,
      evictionsInVain: evictionsInVain, held)
    {
      return .needsEviction(excess)
    }
    return held.state.hasRoomForIndex(moreKeys: puts) ? nil : .needsRoomForIndex
  }

  /// Returns the changes that the operations make, and the number of keys that they remove.
  func changes(
    of operations: [PendingOperation], _ crowds: Crowds, _ held: borrowing CommitLock.Held
  ) -> (changes: [Change], removedCount: Int) {
    var changes = FrameChanges(capacity: operations.count)
    if operations.count == 1, !catalog.keys.mayHaveEntries(ofURL: operations[0].key.hash),
      var put = operations[0].change(catalog.hasher)
    {
      put.isPinned = operations[0].pin.isPinned(replacing: false)
      changes.put(put, replacing: nil, in: &held.state.index)
      return (changes.list, 0)
    }
    var removedCount = 0
    for index in operations.indices {
      let hash = operations[index].key.hash
      if operations[index].removesAllStyles {
        originals.forEachStyle(operations[index].key.url, catalog.styles(of: hash), held) { hash, location, view in
          changes.remove(hash, location, from: &held.state.index)
          if view != nil { removedCount += 1 }
        }
        continue
      }
      let (found, damaged) = keyFinder.find(hash, operations[index].key.url, operations[index].key.style, held)
      for location in damaged { changes.remove(hash, location, from: &held.state.index) }
      if var put = operations[index].change(catalog.hasher) {
        let wasPinned = found.map { held.state.index.isPinned(hash, $0) } ?? false
        put.isPinned = operations[index].pin.isPinned(replacing: wasPinned)
        changes.put(put, replacing: found, in: &held.state.index)
      } else if let found {
        changes.remove(hash, found, from: &held.state.index)
        removedCount += 1
      }
    }
    originals.appendOutdated(operations, crowds, &changes, held)
    return (changes.list, removedCount)
  }

  /// Encodes the changes. Puts are in the order of the operations, so one walk along these finds the records that the
  /// frame carries.
  private func encode(
    _ changes: [Change], of operations: [PendingOperation], _ held: borrowing CommitLock.Held
  ) {
    var next = 0
    for change in changes {
      guard case .put(let put) = change else {
        change.encode(into: held.state.frame)
        continue
      }
      while operations[next].location != put.location { next += 1 }
      if let carried = operations[next].record?.carried {
        carried.withBytes { head, payload in change.encode(into: held.state.frame, record: (head, payload)) }
      } else {
        change.encode(into: held.state.frame)
      }
    }
  }

  private func noteInline(_ operations: [PendingOperation], _ held: borrowing CommitLock.Held) {
    for index in operations.indices where operations[index].isCarried {
      guard let reservation = operations[index].record?.reservation else { continue }
      held.state.log.noteInline(segment: reservation.segment.id, end: reservation.endOffset)
    }
  }

  /// Whether the payloads that the puts share are still there, the payloads that they carry are still new, and the
  /// entries and originals that they depend on are unchanged.
  private func isStillRight(
    _ operations: [PendingOperation], _ held: borrowing CommitLock.Held
  ) -> Bool {
    // A put may share a payload that another of the operations stores. Computed only if a put shares a payload.
    lazy var own = operations.count > 1 ? recordNumbers(operations) : [:]
    for index in operations.indices where operations[index].record != nil {
      let digest = operations[index].digest
      if let expected = operations[index].expected,
        expected != ExpectedEntry(keyFinder.find(operations[index], held), catalog.segments)
      {
        return false
      }
      if let original = operations[index].original,
        keyFinder.sourceOfOriginal(operations[index], held) != original
      {
        return false
      }
      if let shared = operations[index].record?.shared {
        // The number is compared too, because the location may belong to another record by now, even to one of these.
        if own[shared.location] != shared.origin,
          catalog.contents.count(catalog.hasher.content(digest), shared.location) == 0
            || held.state.index.lockedRecord(at: shared.location, checks: false)?.header.origin != shared.origin
        {
          return false
        }
      } else if isSharedByNow(digest, except: operations[index].record?.others ?? [], held) {
        return false
      }
    }
    return true
  }

  private func recordNumbers(_ operations: [PendingOperation]) -> [Location: UInt64] {
    var numbers: [Location: UInt64] = [:]
    for operation in operations {
      if let record = operation.record { numbers[record.location] = record.sequence }
    }
    return numbers
  }

  /// Whether a blob with the same digest was committed since the put was placed, and was not compared then. Record
  /// numbers do not show that, because a lower number may be committed later.
  private func isSharedByNow(
    _ digest: Digest, except others: [Location], _ held: borrowing CommitLock.Held
  ) -> Bool {
    var isShared = false
    catalog.contents.candidates(catalog.hasher.content(digest)) { location in
      guard let header = held.state.index.lockedRecord(at: location, checks: false)?.header, header.digest == digest,
        !others.contains(location)
      else { return true }
      isShared = true
      return false
    }
    return isShared
  }
}

struct Committed {
  /// 0 for a commit that a checkpoint has made durable.
  let sequence: UInt64
  /// Number of keys that were in the index and are removed.
  let removedCount: Int
  /// Whether a sealed segment has no live record now, so upkeep can reclaim it.
  let emptiesSegment: Bool
}
