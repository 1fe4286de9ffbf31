/// Sizes the files of the log by use.
///
/// A new log is small. After a checkpoint, free files grow in four cases: the log was filled fast, a frame was longer
/// than a file, many synced records were too long for their frames, or the index has grown. With a log shorter than the
/// index, checkpoints would write more than the frames do.
/// Files grow by allocation, never by filling with zeros, and only inside the budget. If the disk is full, they stay as
/// they are.
///
/// After a crash, a free file has its old or its new length. An opening cuts a free file to its allocated blocks, so a
/// growth needs no sync. A cut needs no sync either: it removes only frames before the newest checkpoint. An opening
/// that cannot read that checkpoint notices that frames after the older one are missing.
final class LogSizer: StorePart {
  let context: StoreContext
  private let gate: WriteGate

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
  }

  /// Nanoseconds. The log is written fast if two checkpoints are less than this apart and half a file lies between
  /// them.
  private static let fastTurn: UInt64 = 1_000_000_000

  /// Enlarges free files if the log is too short, in the four cases of ``LogSizer``. If a frame or a record was too
  /// long for the log and the free files are long enough now, also continues the log in one of them. After the next
  /// checkpoint, the file that the log has left can grow too.
  func grow(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    guard let wal else { return }
    let isFast =
      upkeep.state.quiet.checkpointInterval < LogSizer.fastTurn
      && upkeep.state.quiet.frameByteCount >= wal.capacity / 2
    let byteCount = commitLock.withLock { held in
      let wanted = max(
        held.state.restingLogFile, isFast ? wal.capacity * 4 : 0, held.state.log.demand.longestRefused * 2,
        held.state.log.demand.fileByteCount)
      return min(LogSizer.powerOfTwo(atLeast: wanted), held.state.largestLogFile)
    }
    guard try growArea(forLogFiles: byteCount, upkeep) else { return }
    resize(to: byteCount, upkeep) { $0 < byteCount }
    try moveLog { log in
      log.demand.exceeds(capacity: wal.capacity) && log.activeByteCount < byteCount
        && log.files.allSatisfy { $0.state != .free || $0.file.byteCount >= byteCount }
    }
  }

  /// Enlarges the area for the changes of a longer log. Returns false if there is no room for it.
  private func growArea(forLogFiles byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) -> Bool {
    guard let pieces = upkeep.state.pieces else { return true }
    let (needed, isAdmitted) = commitLock.withLock { held in
      let needed = held.state.indexRoom(logByteCount: CacheFormat.walFileCount * max(byteCount, wal?.capacity ?? 0))
      let present = IndexRoom(fileByteCount: needed.fileByteCount, blockCount: pieces.blockCount)
      return (needed, held.state.ledger.admitsLog(max(0, needed.byteCount(beyond: present))))
    }
    if needed.blockCount <= pieces.blockCount { return needed.fileByteCount <= upkeep.state.checkpoints.room }
    guard isAdmitted, needed.fileByteCount <= upkeep.state.checkpoints.room else { return false }
    do throws(SystemError) {
      let growth = try upkeep.state.pieces?.allocate(blockCount: needed.blockCount) ?? 0
      commitLock.withLock { held in
        held.state.ledger.add(growth, to: .checkpoints)
        held.state.checkpoint.set(room: upkeep.state.indexRoom)
      }
      return true
    } catch {
      if SystemCode.isNoSpace(error.code) { return false }
      throw gate.fail(error)
    }
  }

  /// Cuts free files to the size that the content needs, and continues the log in one of them if the present file is
  /// longer.
  func shrink(_ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let byteCount = commitLock.withLock { held in
      held.state.log.demand = LogDemand()
      return held.state.restingLogFile
    }
    resize(to: byteCount, upkeep) { $0 > byteCount }
    try moveLog { log in log.activeByteCount > byteCount }
  }

  /// Whether a file is longer than the content needs.
  func hasLongFiles() -> Bool {
    commitLock.withLock { held in
      let resting = held.state.restingLogFile
      return held.state.log.files.contains { $0.file.byteCount > resting }
    }
  }

  /// Continues the log in a free file, if `isWanted` and if another free file is left for the next recovery (rule 8).
  /// Returns whether the log was moved.
  @discardableResult
  func moveLog(if isWanted: (borrowing LogWriter) -> Bool) throws(StoreError) -> Bool {
    do throws(SystemError) {
      let isMoved = try commitLock.withLock { held throws(SystemError) in
        guard isWanted(held.state.log), held.state.log.freeCount >= 2 else { return false }
        return try held.state.log.rotate(cut: held.state.log.position)
      }
      // A checkpoint may name the new file before a frame causes a sync of its header.
      if isMoved { try wal?.sync() }
      return isMoved
    } catch {
      throw gate.fail(error)
    }
  }

  private func resize(to byteCount: Int, _ upkeep: borrowing UpkeepLock.Held, where isWanted: (Int) -> Bool) {
    while let file = commitLock.withLock({ held -> LogFile? in
      guard let file = held.state.log.takeFree(where: { isWanted($0.byteCount) }) else { return nil }
      if held.state.ledger.admitsLog(byteCount - file.byteCount) { return file }
      held.state.log.putBack(file)
      return nil
    }) {
      var sized = file
      defer {
        let charged = try? sized.file.status().chargedByteCount(atMost: sized.byteCount)
        commitLock.withLock { held in
          held.state.log.putBack(file, as: sized)
          held.state.ledger.add(held.state.log.note(charged: charged, of: sized), to: .log)
        }
      }
      sized = self.sized(file, byteCount)
      if sized.byteCount != byteCount { return }
    }
  }

  /// Returns the file with the new size, or the same file if the call fails.
  private func sized(_ file: LogFile, _ byteCount: Int) -> LogFile {
    do throws(SystemError) {
      if byteCount > file.byteCount {
        try file.file.allocate(byteCount: byteCount)
      } else {
        try file.file.truncate(to: byteCount)
      }
    } catch {
      // An allocation that failed may have lengthened the file.
      if byteCount > file.byteCount { try? file.file.truncate(to: file.byteCount) }
      return file
    }
    return LogFile(name: file.name, file: file.file, byteCount: byteCount, isMapped: folders.wal.promisesAllocation)
  }

  static func powerOfTwo(atLeast byteCount: Int) -> Int {
    var size = CacheFormat.newWALFile
    while size < byteCount { size *= 2 }
    return size
  }
}
