/// Makes and grows the files of bodies of unknown length, and turns them into segments.
final class StagedFiles: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checkpointRoom: CheckpointRoom
  private let preparer: PutPreparer
  private let meters: Meters
  private let commits: CommitLog
  private let checkpointer: Checkpointer
  private let reclaimer: Reclaimer
  private let mappedSegments: MappedSegments
  private let roomQueue: RoomQueue

  init(
    _ context: StoreContext, gate: WriteGate, checkpointRoom: CheckpointRoom, preparer: PutPreparer, meters: Meters,
    commits: CommitLog, checkpointer: Checkpointer, reclaimer: Reclaimer, mappedSegments: MappedSegments,
    roomQueue: RoomQueue
  ) {
    self.context = context
    self.gate = gate
    self.checkpointRoom = checkpointRoom
    self.preparer = preparer
    self.meters = meters
    self.commits = commits
    self.checkpointer = checkpointer
    self.reclaimer = reclaimer
    self.mappedSegments = mappedSegments
    self.roomQueue = roomQueue
  }

  /// Returns the body's file; makes an empty one if the body has none yet.
  func stage(_ target: BodyTarget, for body: UnfinishedBody) throws(StoreError) -> StagedFile {
    if let staged = room(of: body)?.file { return staged }
    let largest = commitLock.withLock { held in held.state.largestValue() }
    let head = try target.withPut(preparer) { $0.headByteCount(storedByteCount: largest) }
    let id = try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      return held.state.index.takeSegmentID()
    }
    let file: any File
    do throws(SystemError) {
      file = try Creation.fresh(SegmentHeader.fileName(id), folders.segments)
    } catch {
      throw gate.writeError(error)
    }
    let staged = StagedFile(
      id: id, file: folders.cached(file, segment: id, access: .readWrite),
      payloadOffset: roundUp(SegmentHeader.byteCount + head, to: 4096))
    commitLock.withLock { held in held.state.unfinished[staged: body] = StagedRoom(file: staged) }
    return staged
  }

  private func room(of body: UnfinishedBody) -> StagedRoom? {
    commitLock.withLock { held in held.state.unfinished[staged: body] }
  }

  /// Gives the file room for a payload of this many bytes, and for more ahead if there is room. Returns the waiter if
  /// the body has to wait and `waits` is false.
  func grow(
    _ staged: StagedFile, toHold payloadByteCount: Int, for body: UnfinishedBody, waits: Bool
  ) throws(StoreError) -> RoomWaiter? {
    let needed = roundUp(staged.payloadOffset + payloadByteCount, to: 4096)
    let before = room(of: body)?.byteCount ?? 0
    if needed <= before { return nil }
    let limit = commitLock.withLock { held in held.state.largestValue(overhead: staged.payloadOffset) }
    if payloadByteCount > limit { throw .tooLarge(byteCount: payloadByteCount, limit: limit) }
    let ahead = max(needed, roundUp(before + max(64 << 10, before / 4), to: 4096))
    if let waiter = try roomQueue.admit(body, ahead - before, waits: waits) { return waiter }
    do throws(StoreError) {
      try extend(staged, of: body, to: ahead)
      return nil
    } catch {
      guard case .noSpace = error, needed < ahead else {
        roomQueue.dismiss(body, ahead - before)
        throw error
      }
    }
    roomQueue.dismiss(body, ahead - needed)
    do throws(StoreError) {
      try extend(staged, of: body, to: needed)
    } catch {
      roomQueue.dismiss(body, needed - before)
      throw error
    }
    return nil
  }

  /// Extends the file under the upkeep lock, so that the ledger's answer still holds when the blocks are allocated. The
  /// length of the body is not known, so at most an eighth of the budget is evicted for it. Beyond that the body gets
  /// only room that is free.
  private func extend(_ staged: StagedFile, of body: UnfinishedBody, to byteCount: Int) throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable()
      let room = room(of: body) ?? StagedRoom(file: staged)
      let more = byteCount - room.byteCount
      let allowed = max(0, commitLock.withLock { held in held.state.ledger.budget / 8 } - room.evictedByteCount)
      var most = allowed
      defer {
        commitLock.withLock { held in held.state.unfinished[staged: body]?.evictedByteCount += allowed - most }
      }
      try reclaimer.makeRoom(for: more, evicting: &most, upkeep)
      do throws(SystemError) {
        try staged.openFile().allocate(byteCount: byteCount)
        try account(staged, of: body, byteCount: byteCount)
      } catch {
        throw gate.writeError(error)
      }
    }
  }

  /// Notes that the file has room for this many bytes, and enters the bytes that it takes into the ledger.
  private func account(_ staged: StagedFile, of body: UnfinishedBody, byteCount: Int) throws(SystemError) {
    commitLock.withLock { held in held.state.unfinished[staged: body]?.byteCount = byteCount }
    let allocated = try staged.openFile().status().chargedByteCount(atMost: byteCount)
    commitLock.withLock { held in
      held.state.ledger.add(allocated - (held.state.unfinished[staged: body]?.allocatedByteCount ?? 0), to: .segments)
      held.state.unfinished[staged: body]?.allocatedByteCount = allocated
    }
  }

  /// Removes the file of a body, unless it is a segment by now.
  func drop(of body: UnfinishedBody) {
    guard let staged = room(of: body), !staged.isNamed else { return }
    // A file of another opening may have this name by now. The next opening removes the body's file.
    if gate.isClosed || gate.isRemoved || !gate.isLockNamed { return }
    // If the name cannot be removed, the file stays in the account until the next opening removes it.
    guard (try? folders.segments.remove(staged.file.name)) != nil else { return }
    commitLock.withLock { held in
      held.state.ledger.add(-(held.state.unfinished[staged: body]?.allocatedByteCount ?? 0), to: .segments)
      held.state.unfinished[staged: body]?.allocatedByteCount = 0
    }
  }

  /// Removes the files of bodies that still grow, because a closing store will not commit them.
  func dropStagedFiles() {
    for body in commitLock.withLock({ held in held.state.unfinished.all }) { drop(of: body) }
  }

  /// Turns the file into a segment, and assigns the room for the record of `put` to the body. Bytes, length and name
  /// are durable before the first frame that names the file (rule 8).
  func name(_ staged: StagedFile, _ put: PreparedPut, mapping: Mapping, for body: UnfinishedBody) throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in try name(staged, put, mapping: mapping, for: body, upkeep) }
  }

  private func name(
    _ staged: StagedFile, _ put: PreparedPut, mapping: Mapping, for body: UnfinishedBody,
    _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) {
    try gate.requireWritable()
    let (needed, isThere) = commitLock.withLock { held in
      (held.state.indexRoom(), held.state.hasRoomForIndex())
    }
    if !isThere { try checkpointRoom.grow(to: needed, upkeep) }
    let header = SegmentHeader(
      stream: .spare, store: identity.store, segment: staged.id, fileByteCount: mapping.byteCount,
      opening: Sequence.opening(firstSequence), made: environment.clock.wallMilliseconds())
    do throws(SystemError) {
      let file = try staged.openFile()
      try file.write(header.encoded(), at: 0)
      if room(of: body)?.byteCount ?? 0 > mapping.byteCount { try file.truncate(to: mapping.byteCount) }
      try file.sync()
      try folders.segments.sync()
      try account(staged, of: body, byteCount: mapping.byteCount)
    } catch {
      throw gate.writeError(error)
    }
    meters.count(bytesWritten: SegmentHeader.byteCount)
    while try !enter(staged, put, mapping, body) { try checkpointer.writeCheckpoint(upkeep) }
    mappedSegments.trimMappings(upkeep)
  }

  /// Enters the segment into the log and the index. Returns false if the log has no room.
  private func enter(
    _ staged: StagedFile, _ put: PreparedPut, _ mapping: Mapping, _ body: UnfinishedBody
  ) throws(StoreError) -> Bool {
    let headByteCount = put.headByteCount(isReference: false)
    return try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable()
      guard let slot = held.state.index.segments.takeSlot() else { throw .noSpace }
      let changes: [Change] = [
        .segmentMade(slot: slot, id: staged.id, byteCount: mapping.byteCount),
        .segmentOpened(slot: slot, stream: .single, firstSequence: held.state.nextRecord),
      ]
      guard try commits.record(changes, held), let segment = held.state.index.segments.all[slot] else {
        held.state.index.segments.freeSlot(slot)
        return false
      }
      held.state.unfinished[staged: body]?.isNamed = true
      held.state.enqueue(single: segment)
      staged.attach(
        to: segment, held.state.index.segments, mapping: reads == .mapped ? mapping : nil, byteCount: mapping.byteCount,
        allocatedByteCount: held.state.unfinished[staged: body]?.allocatedByteCount ?? 0,
        account: catalog.segments.account)
      held.state.index.segments.insert(segment, vouchedUpTo: 0, firstSequence: held.state.nextRecord)
      held.state[segment].fill.set(tail: staged.payloadOffset - roundUp(headByteCount, to: Unit.byteCount))
      if let room = held.state.index.segments.reserve(
        in: segment, headByteCount: headByteCount, payloadByteCount: put.payload.stored.count,
        pageAligned: put.isPageAligned)
      {
        held.state[segment].fill.exempt(room)
        held.state.admissions.assign(room, to: body)
      }
      let isSealed = try commits.record([.segmentSealed(slot: slot, byteCount: held.state[segment].byteCount)], held)
      if !isSealed { held.state[segment].seal() }
      return true
    }
  }
}
