// Where changes happen: one frame, then the index, both under the commit lock, which is what makes WAL order the order of
// changes (rule 1).
extension StoreCore {
  /// Makes the operations happen, together: one frame, then the index. Answers the frame's number, or nil when a put
  /// has to be placed again because what it shares has gone or what it carries is shared by now.
  ///
  /// The operations are of different keys: what one does never depends on another of them. `awaitsSync`: the caller makes
  /// the frame durable next.
  func commit(
    _ operations: [PendingOperation], moreKeys: Int, awaitsSync: Bool = false
  ) throws(StoreError) -> Committed? {
    var bound = 256
    for operation in operations { bound += operation.largestEncoding }
    var crowds: Crowds = [:]
    var looks = 0
    do throws(StoreError) {
      while true {
        switch try commitOnce(
          operations, bound, readAhead(operations), crowds, looks: looks, awaitsSync: awaitsSync)
        {
        case .done(let committed):
          return committed
        case .placeAgain:
          locked { settle(operations) }
          return nil
        case .needsCheckpoint:
          try makeLogRoom()
        case .needsRoomForIndex:
          try growCheckpoints(moreKeys: moreKeys)
        case .needsEviction(let new):
          try evictEntries(toAdmit: new)
        case .needsLook:
          crowds = try lookAtCrowds(operations)
          looks += 1
        case .needsStyleEviction(let url, let count):
          if try evictStyles(of: url, count) == 0 { looks += 1 }
        case .exceedsLog:
          if let committed = try commitByCheckpoint(operations, crowds) { return committed }
        }
      }
    } catch {
      locked { settle(operations) }
      throw error
    }
  }

  /// The reservations are no longer on their way: committed, or dead room.
  func settle(_ operations: [PendingOperation]) {
    for operation in operations {
      if case .put(let reservation, _, _, _, _) = operation.kind { reservation.segment.pendingCount -= 1 }
      // After the index has it: a pass over the index that begins in between finds the entry, and later ones the note.
      if let due = operation.due { expirations.note(operation.hash, due: due) }
    }
  }

  struct Committed {
    /// 0 for a commit that a checkpoint has made durable.
    let sequence: UInt64
    /// Keys that were there and are no longer.
    let removedCount: Int
    /// Nothing lives any more in some sealed segment: upkeep can give its space back.
    let emptiesSegment: Bool
  }

  private enum CommitOutcome {
    case done(Committed)
    case placeAgain
    case needsCheckpoint
    case needsRoomForIndex
    /// For so many new entries.
    case needsEviction(Int)
    /// At the entries of a URL whose original is put.
    case needsLook
    /// Of so many styles of a URL.
    case needsStyleEviction(KeyHash, Int)
    case exceedsLog
  }

  private func commitOnce(
    _ operations: [PendingOperation], _ bound: Int, _ heads: HeadsAhead?, _ crowds: Crowds, looks: Int,
    awaitsSync: Bool
  ) throws(StoreError) -> CommitOutcome {
    try locked(with: heads) { () throws(StoreError) in
      try requireWritable()
      guard let wal else { throw .readOnly }
      if let outcome = try obstacle(operations, looks) { return outcome }
      if needsLook(operations, crowds, looks: looks) { return .needsLook }
      let (changes, removedCount) = changes(of: operations, crowds)
      // Each operation has its share already; a removal takes 56 bytes.
      let bound = bound + max(0, changes.count - operations.count) * 64
      if bound > wal.capacity { return .exceedsLog }
      // Nothing to do counts as done when everything before it is.
      var sequence = wal.nextSequence - 1
      if !changes.isEmpty {
        guard try makeRoom(bound) else { return .needsCheckpoint }
        try requireAccepted(changes)
        Frame.begin(frame)
        encode(changes, of: operations)
        sequence = try append(changes.count, awaitsSync: awaitsSync)
        noteInline(operations)
        try apply(changes, sequence: sequence)
      }
      abortBodies(of: operations)
      settle(operations)
      return .done(
        Committed(
          sequence: sequence, removedCount: removedCount, emptiesSegment: catalog.takeHasEmptiedSegments()))
    }
  }

  /// A batch larger than the log commits by a checkpoint (rule 8): no frame may come between it and the changes, so
  /// everybody waits until it is durable. Nil when something has to be done first.
  func commitByCheckpoint(
    _ operations: [PendingOperation], _ crowds: Crowds = [:]
  ) throws(StoreError) -> Committed? {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try prepareCheckpoint()
    return try locked(with: readAhead(operations)) { () throws(StoreError) in
      try requireWritable()
      guard let wal else { throw .readOnly }
      if try obstacle(operations, StoreCore.mostCrowdLooks) != nil { return nil }
      let (changes, removedCount) = changes(of: operations, crowds)
      try requireAccepted(changes)
      try apply(changes, sequence: wal.nextSequence)
      try writeCheckpointLocked(consumingSequence: true)
      abortBodies(of: operations)
      settle(operations)
      return Committed(
        sequence: 0, removedCount: removedCount, emptiesSegment: catalog.takeHasEmptiedSegments())
    }
  }

  /// What keeps the operations from being committed now.
  private func obstacle(_ operations: [PendingOperation], _ looks: Int) throws(StoreError) -> CommitOutcome? {
    let puts = operations.count { if case .put = $0.kind { true } else { false } }
    guard puts > 0 else { return nil }
    if operations.contains(where: { $0.body?.isAborted == true }) { throw .aborted }
    if !isStillRight(operations) { return .placeAgain }
    let new = try newEntries(operations, puts)
    if entryBudget > 0, catalog.keyCount + new > entryBudget { return .needsEviction(new) }
    if looks < StoreCore.mostCrowdLooks, let excess = excessStyles(operations) {
      return .needsStyleEviction(excess.url, excess.count)
    }
    return catalog.checkpointByteCount(moreKeys: puts) <= checkpointByteCount ? nil : .needsRoomForIndex
  }

  /// What the operations come to, and how many keys will go.
  func changes(
    of operations: [PendingOperation], _ crowds: Crowds = [:]
  ) -> (changes: [Change], removedCount: Int) {
    var changes = FrameChanges(capacity: operations.count)
    var removedCount = 0
    for operation in operations {
      if case .removeStyles = operation.kind {
        forEachStyle(operation.url, operation.hash) { hash, location, view in
          changes.remove(hash, location, from: catalog)
          if view != nil { removedCount += 1 }
        }
        continue
      }
      let (found, damaged) = find(operation.hash, operation.url, operation.style)
      for location in damaged { changes.remove(operation.hash, location, from: catalog) }
      switch operation.kind {
      case .remove:
        guard let found else { continue }
        changes.remove(operation.hash, found, from: catalog)
        removedCount += 1
      case .removeStyles: break
      case .put(let reservation, let headUnits, let payloadUnits, let shared, _):
        changes.put(
          Change.Put(
            hash: operation.hash, location: reservation.location, headUnits: headUnits,
            payloadUnits: payloadUnits, logicalByteCount: operation.logicalByteCount,
            content: catalog.hasher.content(operation.digest),
            contentLocation: shared?.location ?? reservation.location, displaced: nil,
            expires: operation.expires),
          replacing: found, in: catalog)
      }
    }
    appendOutdated(operations, crowds, &changes)
    return (changes.list, removedCount)
  }

  /// Puts come in the operations' order, so the records that the frame carries are found by walking along.
  private func encode(_ changes: [Change], of operations: [PendingOperation]) {
    var next = 0
    for change in changes {
      guard case .put(let put) = change else {
        change.encode(into: frame)
        continue
      }
      while operations[next].location != put.location { next += 1 }
      if case .put(_, _, _, _, let inline?) = operations[next].kind {
        inline.withBytes { head, payload in change.encode(into: frame, record: (head, payload)) }
      } else {
        change.encode(into: frame)
      }
    }
  }

  private func noteInline(_ operations: [PendingOperation]) {
    for operation in operations {
      if case .put(let reservation, _, _, _, .some) = operation.kind {
        wal?.noteInline(segment: reservation.segment.id, end: reservation.endOffset)
      }
    }
  }

  /// A frame that replay could not follow would end the log for every later opening, so none is written.
  private func requireAccepted(_ changes: [Change]) throws(StoreError) {
    if catalog.accepts(changes) { return }
    throw .system(SystemError(code: 22, operation: "change", path: "index"))
  }

  /// An index that cannot follow the log, for want of memory, ends all writing: the next opening replays the log.
  func apply(_ changes: [Change], sequence: UInt64) throws(StoreError) {
    noteUseTime()
    if !catalog.apply(changes, sequence: sequence, isChecked: true) {
      throw fail(SystemError(code: 12, operation: "enter", path: "index"))
    }
  }

  /// Writes the frame that was begun. Under the commit lock.
  func append(_ changeCount: Int, awaitsSync: Bool = false) throws(StoreError) -> UInt64 {
    guard let wal else { throw .readOnly }
    do throws(SystemError) {
      return try wal.append(frame, changeCount: changeCount, awaitsSync: awaitsSync)
    } catch {
      throw fail(error)
    }
  }

  /// Writes a frame of changes to segments. Under the commit lock; false when the log has no room for it.
  func record(_ changes: [Change]) throws(StoreError) -> Bool {
    guard try makeRoom(Frame.headerByteCount + changes.count * 128) else { return false }
    try requireAccepted(changes)
    Frame.begin(frame)
    for change in changes { change.encode(into: frame) }
    let sequence = try append(changes.count)
    try apply(changes, sequence: sequence)
    return true
  }

  /// Room for a frame in the active log file, or in the next one. One file stays free for the next recovery (rule 8),
  /// so with only that one left the answer is false: a checkpoint has to free others first.
  private func makeRoom(_ byteCount: Int) throws(StoreError) -> Bool {
    guard let wal else { throw .readOnly }
    if wal.room >= byteCount { return true }
    guard wal.freeCount >= 2 else { return false }
    do throws(SystemError) {
      guard try wal.rotate(cut: wal.position) else { return false }
    } catch {
      throw fail(error)
    }
    wantsCheckpoint.store(true, ordering: .relaxed)
    wake()
    return wal.room >= byteCount
  }

  /// Whether what the puts share is still there, and what they carry still new.
  private func isStillRight(_ operations: [PendingOperation]) -> Bool {
    // What one of them stores, another may share. Made where any shares at all.
    lazy var own = operations.count > 1 ? recordNumbers(operations) : [:]
    for operation in operations {
      guard case .put(_, _, _, let shared, _) = operation.kind else { continue }
      if let expected = operation.expected, find(operation) != expected { return false }
      if let original = operation.original, sourceOfOriginal(operation) != original { return false }
      if let shared {
        // By its number too: the place may have been given to another record meanwhile, even to one of these.
        if own[shared.location] != shared.origin,
          catalog.contents.count(catalog.hasher.content(operation.digest), shared.location) == 0
            || catalog.lockedRecord(at: shared.location, checks: false)?.header.origin != shared.origin
        {
          return false
        }
      } else if isSharedByNow(operation) {
        return false
      }
    }
    return true
  }

  /// The source that a put gets which follows its original, as it is now.
  func sourceOfOriginal(_ operation: PendingOperation) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: operation.hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      find(hash, operation.url, style).location.flatMap { location in
        (catalog.lockedRecord(at: location, checks: false)?.header.digest).map { Source($0) }
      }
    }
  }

  private func recordNumbers(_ operations: [PendingOperation]) -> [Location: UInt64] {
    var numbers: [Location: UInt64] = [:]
    for operation in operations {
      if let location = operation.location { numbers[location] = operation.recordSequence }
    }
    return numbers
  }

  /// Whether a blob with the same digest came since the put was placed: one that was not looked at then. Numbers do not
  /// tell, since an earlier one may be committed later.
  private func isSharedByNow(_ operation: PendingOperation) -> Bool {
    var isShared = false
    catalog.contents.candidates(catalog.hasher.content(operation.digest)) { location in
      guard let header = catalog.lockedRecord(at: location, checks: false)?.header,
        header.digest == operation.digest, !operation.others.contains(location)
      else { return true }
      isShared = true
      return false
    }
    return isShared
  }

  /// How many of the puts are of keys that are not there, where that matters: else as if none were.
  private func newEntries(_ operations: [PendingOperation], _ puts: Int) throws(StoreError) -> Int {
    guard entryBudget > 0, catalog.keyCount + puts > entryBudget else { return 0 }
    var new = 0
    for operation in operations {
      if case .put = operation.kind, find(operation) == nil { new += 1 }
    }
    if new > entryBudget { throw .noSpace }
    return new
  }

  /// The live record of the operation's key. Under the commit lock, so nothing it looks at can go.
  private func find(_ operation: PendingOperation) -> Location? {
    find(operation.hash, operation.url, operation.style).location
  }

  /// The live record of a key, and the entries met on the way whose records cannot be read.
  func find(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer
  ) -> (location: Location?, damaged: [Location]) {
    var damaged: [Location] = []
    var skip = 0
    while let slot = catalog.keys.find(hash, skip: skip, counts: false, { $0 }) {
      skip += 1
      if let view = restoredRecord(at: slot.location, checks: !slot.flags.contains(.checked)) {
        if view.has(url: url, style: style) { return (slot.location, damaged) }
      } else {
        damaged.append(slot.location)
      }
    }
    return (nil, damaged)
  }

  /// The record at a location, written back from the log if it has to be. Under the commit lock.
  func restoredRecord(at location: Location, checks: Bool = true) -> RecordView? {
    if let view = catalog.lockedRecord(at: location, checks: checks) { return view }
    guard let file = catalog.segments.segment(location.slot)?.file, (try? restore(location, into: file)) == true else {
      return nil
    }
    return catalog.record(at: location, checks: true)
  }
}

extension PendingOperation {
  var location: Location? {
    if case .put(let reservation, _, _, _, _) = kind { reservation.location } else { nil }
  }

  /// The most bytes that the operation takes in a frame.
  var largestEncoding: Int {
    if case .put(_, _, _, _, let inline?) = kind { 192 + roundUp(inline.byteCount, to: 8) } else { 192 }
  }
}
