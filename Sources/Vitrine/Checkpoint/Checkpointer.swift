/// Writes and publishes checkpoints.
///
/// Checkpoints. One *covers* every frame before `position`: the image is written under the commit lock, so it holds
/// exactly their effect. It is published by its header, which is written only once the log is durable up to there
/// (rule 4); until then the other file counts. It vouches for the records below each segment's mark, which is raised
/// only by a sync of what this opening wrote or checked.
final class Checkpointer: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let meters: Meters
  private let commits: CommitLog
  private let syncer: Syncer
  private let checker: RecordChecker
  private let lostRecords: LostRecords

  init(
    _ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, meters: Meters, commits: CommitLog, syncer: Syncer,
    checker: RecordChecker, lostRecords: LostRecords
  ) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.meters = meters
    self.commits = commits
    self.syncer = syncer
    self.checker = checker
    self.lostRecords = lostRecords
  }

  /// Writes a checkpoint. One that another thread began after this call, and published, does as well.
  func checkpoint() throws(StoreError) {
    // Before the lock: in a forked child nobody may ever let it go.
    try gate.requireWritable()
    let begun = commitLock.withLock { held in held.state.checkpoint.begun }
    try checkpoint { held in held.state.checkpoint.published > begun }
  }

  /// Frees log files for a change that found no room. Of many threads that wait here one writes a checkpoint: the others
  /// try their changes again after any that was published meanwhile.
  func makeLogRoom() throws(StoreError) {
    try gate.requireWritable()
    let published = commitLock.withLock { held in held.state.checkpoint.published }
    try checkpoint { held in held.state.checkpoint.published > published || (wal?.freeCount ?? 0) >= 2 }
  }

  private func checkpoint(unless isNeedless: (borrowing CommitLock.Held) -> Bool) throws(StoreError) {
    // Before the lock, so that no other call waits for what this reads.
    try prepareCheckpoint()
    try upkeepLock.withLock { upkeep throws(StoreError) in
      if !commitLock.withLock(isNeedless) { try writeCheckpoint(upkeep) }
      try gate.requireNamed()
    }
  }

  /// None is written while doubtful entries are put again: it would name records that are not on the
  /// disk, and behind its position no frame tells what those took. Where the log has no room then, there is none.
  func writeCheckpoint(isClean: Bool = false, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    if gate.mistrustsEarlierRecords { throw .noSpace }
    try prepareCheckpoint()
    let image = try commitLock.withLock { held throws(StoreError) in
      try gate.requireWritable(closing: true)
      return try writeImage(isClean: isClean, upkeep, held)
    }
    try publish(image, upkeep)
    commitLock.withLock { held in releaseLog(image, held) }
  }

  /// The same with the commit lock held from before: for changes that have no frame of their own. A failure ends all
  /// writing, since the index has them already.
  func writeCheckpoint(
    consumingSequence: Bool, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) {
    guard let wal else { throw .readOnly }
    do throws(StoreError) {
      var image = try writeImage(isClean: false, upkeep, held)
      if consumingSequence { image.header.position.sequence += 1 }
      try publish(image, upkeep, held)
      if consumingSequence { wal.skipSequence() }
      releaseLog(image, held)
    } catch .writeFailed(let error) {
      throw .writeFailed(error)
    } catch {
      throw gate.fail(
        SystemError(code: SystemError.noSpace, operation: "write a checkpoint", path: folders.checkpoints.path))
    }
  }

  /// Reads what a checkpoint needs while leftovers are unchecked: payloads that only replayed frames carry, and the heads of
  /// records that replayed frames name. No more than the log holds, and once for each opening.
  func prepareCheckpoint() throws(StoreError) {
    try gate.requireWritable(closing: true)
    do throws(SystemError) { try checker.restoreCarried() } catch { throw gate.writeError(error) }
    try lostRecords.findHeadless()
  }

  /// An image written but not yet published.
  private struct Image {
    let index: Int
    /// As `checkpointCount` counts.
    let number: Int
    var header: CheckpointHeader
    /// Frames below this number have to be durable first.
    var covered: UInt64
    /// Hits counted before it was written: it holds their stamps.
    let hits: Int
    /// Segments written to since their last sync, and up to where all of each is filled. The image vouches for that,
    /// so they are synced before it is published.
    let marks: [(segment: Segment, filled: Int)]
  }

  /// Syncs nothing.
  private func writeImage(
    isClean: Bool, _ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held
  ) throws(StoreError) -> Image {
    guard let wal else { throw .readOnly }
    held.state.checkpoint.begun += 1
    let index = upkeep.state.checkpoints.current == 0 ? 1 : 0
    guard let file = upkeep.state.checkpoints.slots[index].file,
      catalog.checkpointByteCount(moreSegments: 0) <= held.state.checkpoint.room
    else {
      throw .noSpace
    }
    lostRecords.dropHeadless(held)
    var header = CheckpointHeader(
      isClean: isClean, generation: upkeep.state.checkpoints.takeGeneration(opening: wal.opening),
      position: wal.position,
      opening: wal.opening, nextRecord: held.state.nextRecord, made: environment.clock.wallMilliseconds(),
      nextSegment: catalog.nextSegment, identity: held.state.current)
    let hits = catalog.keys.lookups.hits
    var marks: [(Segment, Int)] = []
    do throws(SystemError) {
      try catalog.write(to: file, header: &header) { segment in
        let known = catalog.segments.vouchedUpTo(segment.slot)
        let isUnsynced = segment.isDirty || segment.isBeingFlushed || segment.filledUpTo > known
        guard isUnsynced, segment.isAttached, segment.state != .spare else { return known }
        let mark = segment.takeMark()
        marks.append((segment, mark))
        // A mark never passes what an earlier opening left unchecked.
        return held.state.leftovers.contains(segment) ? known : max(known, mark)
      }
    } catch {
      throw gate.fail(error)
    }
    meters.bytesWritten.wrappingAdd(header.bodyWordCount * 8, ordering: .relaxed)
    return Image(
      index: index, number: held.state.checkpoint.begun, header: header, covered: header.position.sequence, hits: hits,
      marks: marks)
  }

  /// Rules 4 and 6: payloads first, then the log, then the header that makes the image count.
  private func publish(_ image: Image, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try storeHeader(of: image, upkeep)
    commitLock.withLock { held in note(image, published: upkeep, held) }
  }

  /// The same with the commit lock held.
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
    upkeep.state.checkpoints.slots[image.index].header = image.header
    upkeep.state.checkpoints.current = image.index
    upkeep.state.lastCheckpoint = (environment.clock.monotonicNanoseconds(), image.hits)
    signal.wantsCheckpoint.store(false, ordering: .relaxed)
  }

  /// Rules 4 and 6: log files before the checkpoint may be used again, but for those with payloads that it does not
  /// vouch for. What replayed frames carried for unchecked segments was written to its place and synced: the log's copies
  /// are of no more use.
  private func releaseLog(_ image: Image, _ held: borrowing CommitLock.Held) {
    held.state.checkpoint.published = image.number
    held.state.checkpoint.madeMilliseconds = image.header.made
    var ends: [UInt64: Int] = [:]
    for case let segment? in catalog.segments.segments where segment.liveCount > 0 {
      ends[segment.id] = catalog.segments.vouchedUpTo(segment.slot)
    }
    wal?.release(before: image.header.position.use) { segment, end in ends[segment].map { $0 >= end } ?? true }
    checker.carriedRecords.withLock { $0.removeAll() }
  }

  /// Writes a frame of changes to segments, after a checkpoint where the log has no room, and then does what goes with
  /// it. Nothing when there are no changes.
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
