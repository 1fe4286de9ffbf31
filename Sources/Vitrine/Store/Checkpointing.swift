// Checkpoints. One *covers* every frame before `position`: the image is written under the commit lock, so it holds
// exactly their effect. It is published by its header, which is written only once the log is durable up to there
// (rule 4); until then the other file counts. It vouches for the records below each segment's mark, which is raised
// only by a sync of what this opening wrote or checked.
extension StoreCore {
  /// Writes a checkpoint. One that another thread began after this call, and published, does as well.
  func checkpoint() throws(StoreError) {
    // Before the lock: in a forked child nobody may ever let it go.
    try requireWritable()
    let begun = locked { checkpointCount.begun }
    try checkpoint { checkpointCount.published > begun }
  }

  /// Frees log files for a change that found no room. Of many threads that wait here one writes a checkpoint: the others
  /// try their changes again after any that was published meanwhile.
  func makeLogRoom() throws(StoreError) {
    try requireWritable()
    let published = locked { checkpointCount.published }
    try checkpoint { checkpointCount.published > published || (wal?.freeCount ?? 0) >= 2 }
  }

  /// `isNeedless` is asked with both locks held.
  private func checkpoint(unless isNeedless: () -> Bool) throws(StoreError) {
    // Before the lock, so that no other call waits for what this reads.
    try prepareCheckpoint()
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    if !locked(isNeedless) { try writeCheckpoint() }
    try requireNamed()
  }

  /// Under the upkeep lock. None is written while doubtful entries are put again: it would name records that are not on the
  /// disk, and behind its position no frame tells what those took. Where the log has no room then, there is none.
  func writeCheckpoint(isClean: Bool = false) throws(StoreError) {
    if mistrustsEarlierRecords { throw .noSpace }
    try prepareCheckpoint()
    let image = try locked { () throws(StoreError) in
      try requireWritable(closing: true)
      return try writeImage(isClean: isClean)
    }
    try publish(image)
    locked { releaseLog(image) }
  }

  /// The same with the commit lock held from before: for changes that have no frame of their own. A failure ends all
  /// writing, since the index has them already.
  func writeCheckpointLocked(consumingSequence: Bool) throws(StoreError) {
    guard let wal else { throw .readOnly }
    do throws(StoreError) {
      var image = try writeImage(isClean: false)
      if consumingSequence { image.header.position.sequence += 1 }
      try publish(image)
      if consumingSequence { wal.skipSequence() }
      releaseLog(image)
    } catch .writeFailed(let error) {
      throw .writeFailed(error)
    } catch {
      throw fail(SystemError(code: 28, operation: "write a checkpoint", path: folders.checkpoints.path))
    }
  }

  /// Reads what a checkpoint needs while leftovers are unchecked: payloads that only replayed frames carry, and the heads of
  /// records that replayed frames name. No more than the log holds, and once for each opening.
  func prepareCheckpoint() throws(StoreError) {
    try requireWritable(closing: true)
    do throws(SystemError) { try restoreCarried() } catch { throw writeError(error) }
    try findHeadless()
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

  /// Under the commit lock; takes no sync.
  private func writeImage(isClean: Bool) throws(StoreError) -> Image {
    guard let wal else { throw .readOnly }
    checkpointCount.begun += 1
    let index = checkpoints.current == 0 ? 1 : 0
    guard let file = checkpoints.slots[index].file, catalog.checkpointByteCount(moreSegments: 0) <= checkpointByteCount
    else {
      throw .noSpace
    }
    dropHeadless()
    var header = CheckpointHeader(
      isClean: isClean, generation: checkpoints.takeGeneration(opening: wal.opening), position: wal.position,
      opening: wal.opening, nextRecord: nextRecord, made: environment.clock.wallMilliseconds(),
      nextSegment: catalog.nextSegment, identity: current)
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
        return isUnchecked(segment) ? known : max(known, mark)
      }
    } catch {
      throw fail(error)
    }
    bytesWritten.wrappingAdd(header.bodyWordCount * 8, ordering: .relaxed)
    return Image(
      index: index, number: checkpointCount.begun, header: header, covered: header.position.sequence, hits: hits,
      marks: marks)
  }

  func isUnchecked(_ segment: Segment) -> Bool { unchecked.contains { $0.slot == segment.slot } }

  /// Rules 4 and 6: payloads first, then the log, then the header that makes the image count.
  private func publish(_ image: Image) throws(StoreError) {
    guard let wal, let file = checkpoints.slots[image.index].file else { throw .readOnly }
    for (segment, _) in image.marks { try sync(segment) }
    do throws(SystemError) {
      try wal.makeDurable(below: image.covered)
      try file.write(image.header.encoded(), at: 0)
      try file.sync()
    } catch {
      throw fail(error)
    }
    for (segment, filled) in image.marks where !isUnchecked(segment) {
      catalog.segments.raiseMark(of: segment, to: filled)
    }
    checkpoints.slots[image.index].header = image.header
    checkpoints.current = image.index
    lastCheckpoint = (environment.clock.monotonicNanoseconds(), image.hits)
    wantsCheckpoint.store(false, ordering: .relaxed)
  }

  /// Rules 4 and 6: log files before the checkpoint may be used again, but for those with payloads that it does not
  /// vouch for. What replayed frames carried for unchecked segments was written to its place and synced: the log's copies
  /// are of no more use. Under the commit lock.
  private func releaseLog(_ image: Image) {
    lastCheckpointMilliseconds = image.header.made
    checkpointCount.published = image.number
    var ends: [UInt64: Int] = [:]
    for case let segment? in catalog.segments.segments where segment.liveCount > 0 {
      ends[segment.id] = catalog.segments.vouchedUpTo(segment.slot)
    }
    wal?.release(before: image.header.position.use) { segment, end in ends[segment].map { $0 >= end } ?? true }
    inline.withLock { $0.removeAll() }
  }

  /// Makes what was written to segments durable, but for what the log carries, and raises their marks to where
  /// everything is filled.
  func syncSegments(where isWanted: (Segment) -> Bool = { _ in true }) throws(StoreError) {
    syncLock.lock()
    defer { syncLock.unlock() }
    let dirty = locked {
      catalog.segments.segments.compactMap { segment -> (Segment, Int)? in
        guard let segment, segment.owesSync, segment.state != .retired, isWanted(segment) else { return nil }
        segment.isBeingFlushed = true
        segment.isDirty = false
        segment.owesSync = false
        return (segment, segment.takeMark())
      }
    }
    defer { locked { for (segment, _) in dirty { segment.isBeingFlushed = false } } }
    for (segment, filled) in dirty {
      do throws(StoreError) {
        try sync(segment)
      } catch {
        locked {
          for (segment, _) in dirty {
            segment.isDirty = true
            segment.owesSync = true
          }
        }
        throw error
      }
      locked { if !isUnchecked(segment) { catalog.segments.raiseMark(of: segment, to: filled) } }
    }
  }

  // MARK: Room for checkpoints

  /// Makes both checkpoint files large enough for so many keys more, with some to spare where the budget allows.
  func growCheckpoints(moreKeys: Int) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    let (needed, wanted) = locked {
      (
        catalog.checkpointByteCount(moreKeys: moreKeys),
        catalog.checkpointByteCount(moreKeys: moreKeys + max(1024, catalog.keyCount / 4))
      )
    }
    if needed <= checkpointByteCount { return }
    let difference = wanted - checkpointByteCount
    let isWantedAdmitted = locked { ledger.admits(difference * 2) }
    try grow(to: isWantedAdmitted ? wanted : needed)
  }

  func grow(to byteCount: Int) throws(StoreError) {
    var difference = 0
    for slot in checkpoints.slots { difference += max(0, roundUp(byteCount, to: 4096) - slot.chargedByteCount) }
    try makeRoom(for: difference)
    do throws(SystemError) {
      for index in checkpoints.slots.indices {
        guard let file = checkpoints.slots[index].file else { continue }
        try file.allocate(byteCount: byteCount)
        try file.sync()
        let growth = try checkpoints.slots[index].noteRoom(byteCount)
        locked { ledger.checkpoints += growth }
      }
    } catch {
      throw writeError(error)
    }
    locked { checkpointByteCount = checkpoints.room }
  }
}
