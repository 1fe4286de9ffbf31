/// Releases disk space that the store took for speed: unused ends of open segments, spares, and long log and checkpoint
/// files. A store that is closed or quiet then takes little more than its entries.
///
/// The release has two steps, with a checkpoint between them. The first step moves the log into a short file. In a
/// store of the first format, it also cuts the older checkpoint file, to which the checkpoint is written. In a store
/// with pieces, the checkpoint moves all pieces to the first free blocks of the area. The second step cuts the files
/// that the checkpoint has freed. A crash at any point is harmless: cut bytes hold no valid records, frames or pieces,
/// and an opening measures all files.
final class RoomRelease: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncer: Syncer
  private let checkpointer: Checkpointer
  private let retirement: SegmentRetirement
  private let logSizer: LogSizer
  private let useSaver: UseSaver

  init(
    _ context: StoreContext, gate: WriteGate, syncer: Syncer, checkpointer: Checkpointer,
    retirement: SegmentRetirement, logSizer: LogSizer, useSaver: UseSaver
  ) {
    self.context = context
    self.gate = gate
    self.syncer = syncer
    self.checkpointer = checkpointer
    self.retirement = retirement
    self.logSizer = logSizer
    self.useSaver = useSaver
  }

  /// Bytes that an open segment keeps for the next records.
  private static let keptEnd = 64 << 10

  /// Releases room of a store that stays open.
  func release(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard try begin(upkeep) else { return }
    defer { upkeep.state.pieces?.isToBeCut = false }
    try checkpointer.writeCheckpoint(growsLog: false, upkeep)
    try finish(upkeep)
  }

  /// Does the first step. Returns whether the second one, after a checkpoint, has something to do.
  @discardableResult
  func begin(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    try gate.requireWritable(closing: true)
    if gate.mistrustsEarlierRecords { return false }
    commitLock.withLock { held in held.state.resetGrowth() }
    try retireLongSpares(upkeep)
    try cutOpenSegments(upkeep)
    try logSizer.shrink(upkeep)
    if upkeep.state.pieces != nil { return prepareCut(upkeep) || logSizer.hasLongFiles() }
    let hasLongCheckpoint = try cutOlderCheckpoint(upkeep)
    return logSizer.hasLongFiles() || hasLongCheckpoint
  }

  /// Does the second step.
  func finish(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    try logSizer.shrink(upkeep)
    if upkeep.state.pieces != nil {
      try cutPieces(upkeep)
      useSaver.removeLongFile(upkeep)
    } else {
      _ = try cutOlderCheckpoint(upkeep)
    }
  }

  // MARK: Segments

  /// Retires spares except one for copies, which it cuts to the present segment size. Spares of the smallest size also
  /// stay, because the next opening would make them again.
  private func retireLongSpares(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let (kept, others, ordinary) = commitLock.withLock { held -> (Segment?, [Segment], Int) in
      let ordinary = held.state.segmentByteCount
      let kept = held.state.spare(ofAtLeast: ordinary) ?? held.state.writable.spares.first
      let others = held.state.writable.spares.filter { spare in
        spare !== kept && held.state[spare].byteCount > CacheFormat.smallestSegment
      }
      return (kept, others, ordinary)
    }
    for spare in others { try retirement.retire(spare, upkeep) }
    try retirement.retireDeadSegments(upkeep)
    if let kept { try cut(kept, to: ordinary, where: { $0.state == .spare }) }
  }

  private func cutOpenSegments(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let open = commitLock.withLock { held in held.state.writable.allOpen }
    for segment in open {
      try cut(segment, to: nil, where: { $0.state == .open })
    }
  }

  /// Cuts a segment to `byteCount`, or to its records and ``keptEnd``. No reservation lies behind the new end.
  private func cut(
    _ segment: Segment, to byteCount: Int?, where isWanted: (SegmentAccount) -> Bool
  ) throws(StoreError) {
    // Without the file, the segment keeps its length.
    guard let file = segment.file else { return }
    var before = 0
    let end = commitLock.withLock { held -> Int? in
      let account = held.state[segment]
      before = account.byteCount
      let end = byteCount ?? roundUp(account.fill.tail, to: 4096) + RoomRelease.keptEnd
      guard isWanted(account), account.byteCount > end else { return nil }
      // From here on, no reservation takes the bytes behind the end.
      held.state[segment].set(byteCount: end)
      return end
    }
    guard let end else { return }
    do throws(SystemError) {
      if try file.status().byteCount > end { try file.truncate(to: end) }
      let allocated = try file.status().chargedByteCount(atMost: end)
      commitLock.withLock { held in
        held.state.ledger.add(allocated - held.state[segment].allocatedByteCount, to: .segments)
        held.state[segment].set(allocatedByteCount: allocated)
        // No checkpoint may count on the cut before a sync.
        held.state[segment].sync.owe()
        held.state.admissions.noteLength(of: segment, end)
        held.state.admitNext()
      }
    } catch {
      commitLock.withLock { held in held.state[segment].set(byteCount: before) }
      throw gate.writeError(error)
    }
    // A checkpoint syncs open segments, but no spares.
    if byteCount != nil { try syncer.sync(segment) }
  }

  // MARK: Index

  /// The room that an index with pieces keeps; nil if its files are at most twice as long.
  private func keptRoom(_ upkeep: borrowing UpkeepLock.Held, _ held: borrowing CommitLock.Held) -> IndexRoom? {
    let kept = held.state.indexRoom(moreKeys: max(1024, held.state.index.keyCount / 4), areaBlocks: 0)
    let isLong =
      upkeep.state.checkpoints.room > 2 * kept.fileByteCount
      || upkeep.state.indexRoom.blockCount > 2 * kept.blockCount
    return isLong ? kept : nil
  }

  /// If a file of the index is too long, makes the next checkpoint move all pieces to the beginning of the area.
  /// Returns whether a file is too long.
  private func prepareCut(_ upkeep: borrowing UpkeepLock.Held) -> Bool {
    let isLong = commitLock.withLock { held in
      guard let kept = keptRoom(upkeep, held) else { return false }
      // From here on, puts that exceed this room ask for more first.
      held.state.checkpoint.set(room: held.state.checkpoint.room.intersection(with: kept))
      return true
    }
    if isLong { upkeep.state.pieces?.isToBeCut = true }
    return isLong
  }

  /// Cuts the area to the room that the index keeps, but only behind its last piece. Then cuts the checkpoint files.
  /// The older root is erased first, because it may name blocks that are cut. The files are cut after the length of the
  /// area is durable, because a root must have room to name each block of the area that an opening finds.
  private func cutPieces(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard upkeep.state.pieces?.isToBeCut == true else { return }
    upkeep.state.pieces?.isToBeCut = false
    let kept = commitLock.withLock { held -> IndexRoom? in
      guard let kept = keptRoom(upkeep, held) else { return nil }
      held.state.checkpoint.set(room: held.state.checkpoint.room.intersection(with: kept))
      return kept
    }
    guard let kept else { return }
    try checkpointer.eraseOlderCheckpoint(upkeep)
    do throws(SystemError) {
      enter(try upkeep.state.pieces?.cut(to: kept.blockCount) ?? 0)
      try upkeep.state.pieces?.area.sync()
      let needed = commitLock.withLock { held in
        held.state.indexRoom(areaBlocks: upkeep.state.indexRoom.blockCount).fileByteCount
      }
      for index in upkeep.state.checkpoints.slots.indices where upkeep.state.checkpoints.slots[index].room > 2 * needed
      {
        enter(try upkeep.state.checkpoints.cut(to: needed, index))
      }
    } catch {
      throw gate.writeError(error)
    }
    commitLock.withLock { held in held.state.checkpoint.set(room: upkeep.state.indexRoom) }
  }

  /// Enters bytes by which files of the index have grown.
  private func enter(_ growth: Int) {
    commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
  }

  /// Cuts the older checkpoint file if it has much more room than the index needs. Returns whether a file is too long.
  private func cutOlderCheckpoint(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    let needed = commitLock.withLock { held -> Int? in
      let needed = held.state.indexRoom(moreKeys: max(1024, held.state.index.keyCount / 4))
      guard upkeep.state.checkpoints.slots.contains(where: { $0.room > 2 * needed.fileByteCount }) else { return nil }
      // From here on, puts that exceed this room ask for more first.
      var room = held.state.checkpoint.room
      room.fileByteCount = min(room.fileByteCount, needed.fileByteCount)
      held.state.checkpoint.set(room: room)
      return needed.fileByteCount
    }
    guard let needed else { return false }
    do throws(SystemError) {
      for index in upkeep.state.checkpoints.slots.indices
      where index != upkeep.state.checkpoints.current && upkeep.state.checkpoints.slots[index].room > 2 * needed {
        let growth = try upkeep.state.checkpoints.cut(to: needed, index)
        commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
      }
    } catch {
      throw gate.writeError(error)
    }
    return true
  }
}
