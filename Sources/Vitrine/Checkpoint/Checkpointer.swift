/// Writes and publishes checkpoints.
///
/// A checkpoint *covers* every frame before `position`: its image is written under the commit lock, so it holds exactly
/// their effect. Its header publishes it, and is written only when the log is durable up to the position (rule 4);
/// until then the other file counts. The checkpoint vouches for the records below each segment's mark. Only a sync of
/// records that this opening wrote or checked raises the mark.
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
      let image = try writeImage(isClean: isClean, upkeep, held)
      if !dropsEntries { return image }
      // No frame tells of the dropped entries. A later frame may rely on their absence, so none may come before the
      // checkpoint counts, and the older checkpoint does not lead to this state.
      do throws(StoreError) {
        try publish(image, upkeep, held)
        try eraseOlderCheckpoint(upkeep)
      } catch {
        throw endOfWriting(by: error)
      }
      releaseLog(image, held)
      return nil
    }
    if let image {
      try publish(image, upkeep)
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
      try publish(image, upkeep, held)
      if consumingSequence {
        held.state.log.skipSequence()
        try eraseOlderCheckpoint(upkeep)
      }
      releaseLog(image, held)
    } catch {
      throw endOfWriting(by: error)
    }
  }

  /// Ends all writing, because the index has changes that neither a frame nor a checkpoint has. Returns the error to throw.
  private func endOfWriting(by error: StoreError) -> StoreError {
    if case .writeFailed = error { return error }
    if case .storeRemoved = error { return error }
    return gate.fail(
      SystemError(code: SystemError.noSpace, operation: "write a checkpoint", path: folders.checkpoints.path))
  }

  /// Erases the header of the older checkpoint durably, if the older checkpoint and the log do not lead to the state
  /// of the newest one: no frame records the changes of the newest one, or the older one could not be read.
  func eraseOlderCheckpoint(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    do throws(SystemError) { try upkeep.state.checkpoints.eraseOlder() } catch { throw gate.fail(error) }
  }

  /// Prepares a checkpoint while leftovers are unchecked: restores payloads that only replayed frames carry, and reads
  /// the heads of records that replayed frames name. Reads each of them once for each opening.
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
  }

  /// Writes the image, without a sync.
  private func writeImage(
    isClean: Bool, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Image {
    guard wal != nil else { throw .readOnly }
    held.state.checkpoint.begin()
    let index = upkeep.state.checkpoints.current == 0 ? 1 : 0
    guard let file = upkeep.state.checkpoints.slots[index].file,
      held.state.index.checkpointByteCount(moreSegments: 0) <= held.state.checkpoint.room
    else {
      throw .noSpace
    }
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
    do throws(SystemError) {
      try held.state.index.write(to: file, header: &header) { segment in
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
    } catch {
      throw gate.fail(error)
    }
    meters.count(bytesWritten: header.bodyWordCount * 8)
    return Image(
      index: index, number: held.state.checkpoint.begun, header: header, covered: header.position.sequence, hits: hits,
      requests: requests, marks: marks)
  }

  /// Publishes the image (rules 4 and 6): syncs the payloads, then the log, then writes the header.
  private func publish(_ image: Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try storeHeader(of: image, upkeep)
    commitLock.withLock { held in note(image, published: upkeep, held) }
  }

  /// Publishes the image with the commit lock held.
  private func publish(
    _ image: Image, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    try storeHeader(of: image, upkeep)
    note(image, published: upkeep, held)
  }

  private func storeHeader(of image: Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard let wal, let file = upkeep.state.checkpoints.slots[image.index].file else { throw .readOnly }
    for (segment, _) in image.marks { try syncer.sync(segment) }
    do throws(SystemError) {
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
    upkeep.state.quiet.noteCheckpoint(
      at: environment.clock.monotonicNanoseconds(), hits: image.hits, frameByteCount: wal?.writtenByteCount ?? 0)
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

  /// Writes a frame of changes to segments and then calls `then`. If the log has no room, a checkpoint comes first.
  /// Does nothing if there are no changes.
  func recordForSure(
    _ upkeep: borrowing UpkeepLock.Held, _ changes: (borrowing CommitLock.Held) -> [Change],
    then: (borrowing CommitLock.Held) -> Void = { _ in }
  ) throws(StoreError) {
    while true {
      let isDone = try commitLock.withLock { held throws(StoreError) in
        try gate.requireWritable(closing: true)
        let changes = changes(held)
        if changes.isEmpty { return true }
        guard try commits.record(changes, held) else { return false }
        then(held)
        return true
      }
      if isDone { return }
      try writeCheckpoint(upkeep)
    }
  }
}
