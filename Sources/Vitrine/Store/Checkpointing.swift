// Checkpoints. One *covers* every frame before `position`: the image is written under the commit lock, so it holds
// exactly their effect. It is published by its header, which is written only once the log is durable up to there
// (rule 4); until then the other file counts. It vouches for the records below each segment's mark, which is raised
// only by a sync of what this opening wrote or checked.
extension StoreCore {
  func checkpoint() throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try writeCheckpoint()
  }

  /// Under the upkeep lock.
  func writeCheckpoint(isClean: Bool = false) throws(StoreError) {
    try prepareCheckpoint()
    // The image under the commit lock, which takes no sync; what follows does not need it.
    let (index, header) = try locked { () throws(StoreError) in
      try requireWritable()
      return try writeImage(isClean: isClean)
    }
    try publish(index, header, covering: header.position.sequence)
    locked { releaseLog(header) }
  }

  /// The same with the commit lock held from before: for a batch that has no frame of its own.
  func writeCheckpointLocked(consumingSequence: Bool) throws(StoreError) {
    guard let wal else { throw .readOnly }
    let last = wal.nextSequence
    var (index, header) = try writeImage(isClean: false)
    if consumingSequence { header.position.sequence += 1 }
    try publish(index, header, covering: last)
    if consumingSequence { wal.skipSequence() }
    releaseLog(header)
  }

  /// Checks what earlier openings left unchecked, syncs the segments, and raises their marks. Under the upkeep lock.
  func prepareCheckpoint() throws(StoreError) {
    try requireWritable()
    try checkLeftovers()
    try syncSegments()
    let needed = locked { catalog.checkpointByteCount() }
    if needed > checkpointByteCount { try grow(to: needed) }
  }

  private func writeImage(isClean: Bool) throws(StoreError) -> (Int, CheckpointHeader) {
    guard let wal else { throw .readOnly }
    let index = checkpoints.current == 0 ? 1 : 0
    guard let file = checkpoints.slots[index].file, catalog.checkpointByteCount() <= checkpointByteCount else {
      throw .noSpace
    }
    var header = CheckpointHeader(
      isClean: isClean, generation: checkpoints.newestGeneration + 1, position: wal.position,
      opening: wal.opening, nextRecord: nextRecord, made: environment.clock.wallMilliseconds(),
      nextSegment: catalog.nextSegment, identity: identity)
    do throws(SystemError) {
      try catalog.write(to: file, header: &header)
    } catch {
      throw fail(error)
    }
    bytesWritten.wrappingAdd(header.bodyWordCount * 8, ordering: .relaxed)
    return (index, header)
  }

  private func publish(_ index: Int, _ header: CheckpointHeader, covering sequence: UInt64) throws(StoreError) {
    guard let wal, let file = checkpoints.slots[index].file else { throw .readOnly }
    do throws(SystemError) {
      try wal.makeDurable(below: sequence)
      try file.write(header.encoded(), at: 0)
      try file.sync()
    } catch {
      throw fail(error)
    }
    checkpoints.slots[index].header = header
    checkpoints.current = index
    checkpointsWritten += 1
    lastCheckpointMilliseconds = header.made
    wantsCheckpoint.store(false, ordering: .relaxed)
  }

  /// Rules 4 and 6: log files before the checkpoint may be used again, but for those that carry payloads which it does
  /// not vouch for. Under the commit lock.
  private func releaseLog(_ header: CheckpointHeader) {
    wal?.release(before: header.position.use) { slot, end in
      guard slot < catalog.segments.segments.count, let segment = catalog.segments.segments[slot],
        segment.liveCount > 0
      else { return true }
      return catalog.segments.vouchedUpTo(slot) >= end
    }
    inline.withLock { inline in
      guard !inline.isEmpty else { return }
      inline = inline.filter { !catalog.segments.isVouched($0.key) }
    }
  }

  /// Makes what was written to segments durable and raises their marks to where everything is filled. Under the upkeep
  /// lock, so marks rise in order.
  func syncSegments() throws(StoreError) {
    let dirty = locked {
      catalog.segments.segments.compactMap { segment -> (Segment, Int)? in
        guard let segment, segment.isDirty, segment.state != .retired else { return nil }
        segment.isDirty = false
        return (segment, segment.filledUpTo)
      }
    }
    for (segment, filled) in dirty {
      try sync(segment)
      // A mark never passes what an earlier opening left unchecked.
      if unchecked.contains(where: { $0.slot == segment.slot }) { continue }
      if filled > catalog.segments.vouchedUpTo(segment.slot) {
        catalog.segments.setVouchedUpTo(filled, slot: segment.slot)
      }
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

  private func grow(to byteCount: Int) throws(StoreError) {
    var difference = 0
    for slot in checkpoints.slots { difference += max(0, byteCount - slot.byteCount) }
    guard locked({ ledger.admits(difference) }) else { throw .noSpace }
    do throws(SystemError) {
      for index in checkpoints.slots.indices {
        guard let file = checkpoints.slots[index].file else { continue }
        try file.allocate(byteCount: byteCount)
        try file.sync()
        let status = try file.status()
        locked {
          ledger.checkpoints += status.allocatedByteCount - checkpoints.slots[index].allocatedByteCount
        }
        checkpoints.slots[index].byteCount = status.byteCount
        checkpoints.slots[index].allocatedByteCount = status.allocatedByteCount
      }
    } catch {
      throw writeError(error)
    }
    locked { checkpointByteCount = checkpoints.slots.map(\.byteCount).min() ?? 0 }
  }
}
