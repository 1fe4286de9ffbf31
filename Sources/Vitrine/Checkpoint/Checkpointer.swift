/// Writes and publishes checkpoints.
///
/// A checkpoint *covers* every frame before `position`: its content is taken under the commit lock, so it holds exactly
/// their effect. With pieces, the content is written after the lock is released. The header publishes the checkpoint,
/// and is written only when the log is durable up to the position (rule 4); until then the other file counts. The
/// checkpoint vouches for the records below each segment's mark. Only a sync of records that this opening wrote or
/// checked raises the mark.
final class Checkpointer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let meters: Meters
  private let commits: CommitLog
  private let syncer: Syncer
  private let checker: RecordChecker
  private let lostRecords: LostRecords
  private let logSizer: LogSizer

  init(
    _ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, meters: Meters, commits: CommitLog, syncer: Syncer,
    checker: RecordChecker, lostRecords: LostRecords, logSizer: LogSizer
  ) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.meters = meters
    self.commits = commits
    self.syncer = syncer
    self.checker = checker
    self.lostRecords = lostRecords
    self.logSizer = logSizer
  }

  /// Writes a checkpoint, unless another thread has begun one after this call and published it.
  func checkpoint() throws(StoreError) {
    // This check comes before the lock, because in a forked child the lock may never be released.
    try gate.requireWritable()
    let begun = commitLock.withLock { held in held.state.checkpoint.begun }
    try checkpoint { held in held.state.checkpoint.published > begun }
  }

  /// Frees log files for a change that found no room. Of many threads that wait here, one writes a checkpoint. The
  /// others try their changes again after any checkpoint published meanwhile.
  func freeLogFiles() throws(StoreError) {
    try gate.requireWritable()
    let published = commitLock.withLock { held in held.state.checkpoint.published }
    try checkpoint { held in held.state.checkpoint.published > published || held.state.log.freeCount >= 2 }
  }

  private func checkpoint(unless isNeedless: (borrowing CommitLock.Held) -> Bool) throws(StoreError) {
    // These reads come before the lock, so that no other call waits for them.
    try prepareCheckpoint()
    try upkeepLock.withLock { upkeep throws(StoreError) in
      if !commitLock.withLock(isNeedless) { try writeCheckpoint(upkeep) }
      try gate.requireNamed()
    }
  }

  /// Writes a checkpoint. Throws `noSpace` during failed-sync recovery: the checkpoint would name records that are not
  /// on the disk, and no frame after its position repeats them. So a log that is full during the recovery stays full.
  func writeCheckpoint(
    isClean: Bool = false, growsLog: Bool = true, _ upkeep: borrowing UpkeepLock.Held
  ) throws(StoreError) {
    if gate.mistrustsEarlierRecords { throw .noSpace }
    try prepareCheckpoint()
    let image = try commitLock.withLock { held throws(StoreError) -> Image? in
      try gate.requireWritable(closing: true)
      let dropsEntries = held.state.leftovers.hasHeadless
      var image = try writeImage(isClean: isClean, upkeep, held)
      if !dropsEntries { return image }
      // No frame records the dropped entries, but a later frame may rely on their absence. So the commit lock is held
      // until the checkpoint is published. The older checkpoint does not lead to this state, so it is erased.
      do throws(StoreError) {
        try publish(&image, upkeep, held)
        try eraseOlderCheckpoint(upkeep)
      } catch {
        throw endOfWriting(by: error)
      }
      releaseLog(image, held)
      return nil
    }
    if var image {
      try publish(&image, upkeep)
      commitLock.withLock { held in releaseLog(image, held) }
    }
    if growsLog { try logSizer.grow(upkeep) }
  }

  /// Enlarges the log after a checkpoint that was written with the commit lock held.
  func growLog(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) { try logSizer.grow(upkeep) }

  /// Writes a checkpoint with the commit lock already held, for changes without a frame. A failure ends all writing,
  /// because the index has these changes already.
  func writeCheckpoint(
    consumingSequence: Bool, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    guard wal != nil else { throw .readOnly }
    do throws(StoreError) {
      var image = try writeImage(isClean: false, upkeep, held)
      if consumingSequence { image.header.position.sequence += 1 }
      try publish(&image, upkeep, held)
      if consumingSequence {
        held.state.log.skipSequence()
        try eraseOlderCheckpoint(upkeep)
      }
      releaseLog(image, held)
    } catch {
      throw endOfWriting(by: error)
    }
  }

  /// Ends all writing, because the index has changes that neither a frame nor a checkpoint has. Returns the error to
  /// throw.
  private func endOfWriting(by error: StoreError) -> StoreError {
    if case .writeFailed = error { return error }
    if case .storeRemoved = error { return error }
    return gate.fail(
      SystemError(code: SystemError.noSpace, operation: "write a checkpoint", path: folders.checkpoints.path))
  }

  /// Erases the header of the older checkpoint durably. A caller needs this if the older checkpoint and the log do not
  /// lead to the state of the newest one, if the older one could not be read, or to free the blocks that it names.
  func eraseOlderCheckpoint(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    do throws(SystemError) { try upkeep.state.checkpoints.eraseOlder() } catch { throw gate.fail(error) }
    if let current = upkeep.state.checkpoints.current { upkeep.state.pieces?.forget(root: 1 - current) }
  }

  /// Prepares a checkpoint while leftovers are unchecked: restores payloads that only replayed frames carry, and reads
  /// the heads of records that replayed frames name. An opening does this once for each record.
  func prepareCheckpoint() throws(StoreError) {
    try gate.requireWritable(closing: true)
    do throws(SystemError) { try checker.restoreCarried() } catch { throw gate.writeError(error) }
    try lostRecords.findHeadless()
  }

  /// A written checkpoint that is not published yet.
  private struct Image {
    let index: Int
    /// The number of the checkpoint, as `checkpoint.begun` counts.
    let number: Int
    var header: CheckpointHeader
    /// Frames below this sequence number must be durable first.
    var covered: UInt64
    /// Number of hits counted before the image was written. The image holds their stamps.
    let hits: Int
    /// Number of requests for a checkpoint before the image was written. Later ones ask for another.
    let requests: Int
    /// Segments written since their last sync, with the offset up to which each is filled. The image vouches for these
    /// bytes, so the segments are synced before it is published.
    let marks: [(segment: Segment, filled: Int)]
    /// For a store with pieces: the content of the root, which is written after the commit lock is released.
    var root: Root?
  }

  private struct Root {
    let draft: IndexDraft
    let body: RootBody
    /// Set when the pieces are written.
    var attempt: PieceSet.Attempt?
  }

  /// Writes the image, without a sync. In a store with pieces, only collects the content of the pieces and the root,
  /// which ``writePieces(of:_:)`` writes later.
  private func writeImage(
    isClean: Bool, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Image {
    guard wal != nil else { throw .readOnly }
    held.state.checkpoint.begin()
    let index = upkeep.state.checkpoints.current == 0 ? 1 : 0
    guard let file = upkeep.state.checkpoints.slots[index].file, hasRoomForImage(upkeep, held) else { throw .noSpace }
    let dropsEntries = held.state.leftovers.hasHeadless
    lostRecords.dropHeadless(held)
    // An opening reuses the newest log file if the file holds no frame. If that opening cannot read this checkpoint,
    // the reuse would overwrite the position that the checkpoint names. So the file gets a frame without changes.
    if held.state.log.position.offset == WALFileHeader.frameStart {
      Frame.begin(held.state.frame)
      _ = try commits.append(0, held)
    }
    var header = CheckpointHeader(
      isClean: isClean, generation: upkeep.state.checkpoints.takeGeneration(opening: held.state.log.opening),
      position: held.state.log.position,
      opening: held.state.log.opening, nextRecord: held.state.nextRecord, made: environment.clock.wallMilliseconds(),
      nextSegment: held.state.index.nextSegment, identity: held.state.current)
    let hits = catalog.keys.lookups.hits
    let requests = signal.requestCount
    var marks: [(Segment, Int)] = []
    var root: Root?
    func mark(_ segment: Segment) -> Int {
      let known = catalog.segments.vouchedUpTo(segment.slot)
      let isUnsynced =
        held.state[segment].sync.isDirty || held.state[segment].sync.isBeingFlushed
        || held.state[segment].fill.filledUpTo > known
      guard isUnsynced, segment.isAttached, held.state[segment].state != .spare else { return known }
      let mark = held.state[segment].fill.takeMark()
      marks.append((segment, mark))
      // The mark stays below unchecked records of an earlier opening.
      return held.state.leftovers.contains(segment) ? known : max(known, mark)
    }
    if let pieces = upkeep.state.pieces {
      var draft = IndexDraft.take(from: &held.state.index, pieces)
      if draft == nil, try growArea(upkeep, held), let pieces = upkeep.state.pieces {
        draft = IndexDraft.take(from: &held.state.index, pieces)
      }
      guard let draft else { throw dropsEntries ? endOfWriting(by: .noSpace) : .noSpace }
      root = Root(draft: draft, body: held.state.index.rootBody(header: &header, mark: mark))
    } else {
      do throws(SystemError) {
        try held.state.index.write(to: file, header: &header, mark: mark)
      } catch {
        throw gate.fail(error)
      }
      meters.count(bytesWritten: header.bodyWordCount * 8)
    }
    return Image(
      index: index, number: held.state.checkpoint.begun, header: header, covered: header.position.sequence, hits: hits,
      requests: requests, marks: marks, root: root)
  }

  /// Enlarges the area for the present journal, if the budget and the disk have room. Returns whether the area grew.
  private func growArea(
    _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Bool {
    guard let present = upkeep.state.pieces?.blockCount else { return false }
    let needed = held.state.indexRoom(moreWords: held.state.index.journalWords)
    guard needed.blockCount > present, needed.fileByteCount <= upkeep.state.checkpoints.room,
      held.state.ledger.admits((needed.blockCount - present) * Piece.blockByteCount)
    else { return false }
    do throws(SystemError) {
      let growth = try upkeep.state.pieces?.allocate(blockCount: needed.blockCount) ?? 0
      held.state.ledger.add(growth, to: .checkpoints)
    } catch {
      if SystemCode.isNoSpace(error.code) { return false }
      throw gate.fail(error)
    }
    held.state.checkpoint.set(room: upkeep.state.indexRoom)
    return true
  }

  private func hasRoomForImage(_ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held) -> Bool {
    guard let blockCount = upkeep.state.pieces?.blockCount else {
      return held.state.hasRoomForIndex(moreSegments: 0)
    }
    let segments = held.state.index.segments.all.count
    let needed = CheckpointHeader.rootByteCount(segments: segments, areaBlocks: blockCount)
    return needed <= upkeep.state.checkpoints.room
  }

  /// Writes the pieces and the body of the root, without a sync. If the older root names blocks that are needed, it is
  /// erased first.
  private func writePieces(of image: inout Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard let root = image.root, let file = upkeep.state.checkpoints.slots[image.index].file else { return }
    if upkeep.state.pieces?.hasRoom(for: root.draft) == false {
      try eraseOlderCheckpoint(upkeep)
      // There may be too few blocks even now: the plan may count one block too few for each part.
      if upkeep.state.pieces?.hasRoom(for: root.draft) == false { throw .noSpace }
    }
    do throws(SystemError) {
      guard let attempt = try upkeep.state.pieces?.write(root.draft) else { return }
      image.header.owedWordCount = attempt.owed
      try root.body.write(attempt.pieces, to: file, header: &image.header)
      image.root?.attempt = attempt
      meters.count(bytesWritten: attempt.byteCount + image.header.bodyWordCount * 8)
    } catch {
      throw SystemCode.isShortage(error.code) ? .system(error) : gate.fail(error)
    }
  }

  /// Publishes the image (rules 4 and 6): syncs the payloads, then the log, then writes the header.
  private func publish(_ image: inout Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    do throws(StoreError) {
      try storeHeader(of: &image, upkeep)
    } catch {
      commitLock.withLock { held in putBack(image, upkeep, held) }
      throw error
    }
    let image = image
    commitLock.withLock { held in note(image, published: upkeep, held) }
  }

  /// Publishes the image with the commit lock held.
  private func publish(
    _ image: inout Image, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    do throws(StoreError) {
      try storeHeader(of: &image, upkeep)
    } catch {
      putBack(image, upkeep, held)
      throw error
    }
    note(image, published: upkeep, held)
  }

  /// Puts the changes of an image that was not published back into the index, for the next image. Not every failure
  /// ends writing: a sync may fail for lack of a descriptor, for example.
  private func putBack(
    _ image: Image, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) {
    guard let root = image.root else { return }
    root.draft.putBack(into: &held.state.index)
    upkeep.state.pieces?.abandon()
  }

  private func storeHeader(of image: inout Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard let wal, let file = upkeep.state.checkpoints.slots[image.index].file else { throw .readOnly }
    try writePieces(of: &image, upkeep)
    for (segment, _) in image.marks { try syncer.sync(segment) }
    do throws(SystemError) {
      // The header must not name blocks that a loss of power could still take.
      try upkeep.state.pieces?.area.sync()
      try wal.makeDurable(below: image.covered)
      try file.write(image.header.encoded(), at: 0)
      try file.sync()
    } catch {
      throw gate.fail(error)
    }
  }

  private func note(
    _ image: Image, published upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) {
    for (segment, filled) in image.marks where !held.state.leftovers.contains(segment) {
      catalog.segments.raiseMark(of: segment, to: filled)
    }
    upkeep.state.checkpoints.publish(image.header, image.index)
    if let attempt = image.root?.attempt { upkeep.state.pieces?.publish(attempt, root: image.index) }
    let now = environment.clock.monotonicNanoseconds()
    upkeep.state.quiet.noteCheckpoint(at: now, frameByteCount: wal?.writtenByteCount ?? 0)
    // Without pieces, or with new ones for all shards, the checkpoint has all stamps.
    if image.root?.attempt?.renewsAll ?? true {
      upkeep.state.quiet.noteUses(at: now, hits: image.hits)
      if let root = image.root { upkeep.state.uses.saved = root.draft.savedUses }
    }
    signal.noteCheckpoint(serving: image.requests)
  }

  /// Releases log files before the checkpoint for reuse (rules 4 and 6), except files with payloads for which it does
  /// not vouch. Payloads that replayed frames carried for unchecked segments are in their segments and synced by now,
  /// so the log's copies are no longer needed.
  private func releaseLog(_ image: Image, _ held: borrowing CommitLock.Held) {
    held.state.checkpoint.publish(image.number, madeMilliseconds: image.header.made)
    var ends: [UInt64: Int] = [:]
    for case let segment? in held.state.index.segments.all where held.state[segment].live.count > 0 {
      ends[segment.id] = catalog.segments.vouchedUpTo(segment.slot)
    }
    held.state.log.release(before: image.header.position.use) { segment, end in
      ends[segment].map { $0 >= end } ?? true
    }
    checker.forgetCarriedRecords()
  }

  /// Writes a frame with the changes that `changes` returns, and then calls `then`. If the log has no room, writes a
  /// checkpoint and tries again. Does nothing if there are no changes. `reason`: why the changes remove entries.
  func recordForSure(
    _ upkeep: borrowing UpkeepLock.Held, because reason: CacheEvent.RemovalReason = .removed,
    _ changes: (borrowing CommitLock.Held) -> [Change],
    then: (borrowing CommitLock.Held) -> Void = { _ in }
  ) throws(StoreError) {
    while true {
      let isDone = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable(closing: true)
        let changes = changes(held)
        if changes.isEmpty { return true }
        guard try commits.record(changes, because: reason, held) else { return false }
        then(held)
        return true
      }
      if isDone { return }
      try writeCheckpoint(upkeep)
    }
  }
}
